// These routines take 64-bit sizes and types as arguments; the work is the same as that of the
// routines with a type prefix. multiply_adds is half of LAPACK's operation count in its leading
// terms: 2/3 n^3 operations for LU of a square matrix, 1/3 n^3 for Cholesky, 2 n^2 (m - n / 3) for
// QR of m >= n, 4/3 n^3 for a symmetric eigenproblem without vectors. Answers of the size queries
// are what the program allocates, so they have to be plausible; the routine itself needs none of
// it. Every buffer that a routine writes must be among its outputs: those are forgotten, and one
// that is left out would keep stale bytes that look known.
#include "shim/vendor/cusolver/generic.h"

#include <algorithm>

#include "shim/vendor/cusolver/routine.h"

namespace eidolon::shim::cusolver::generic {
namespace {

double Real(std::int64_t number) { return static_cast<double>(number); }

}  // namespace

cusolverStatus_t GetrfSize(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, std::size_t* device,
                           std::size_t* host) {
  return TellBytes(handle, type, kBlock * Real(std::max(m, n)), device, host);
}

cusolverStatus_t Getrf(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                       void* a, std::int64_t lda, std::int64_t*, Type, void*, std::size_t, void*,
                       std::size_t, int* info) {
  const double low = Real(std::min(m, n));
  return Run(handle, {.name = "cusolver.getrf",
                      .type = type,
                      .multiply_adds = low * low * (Real(std::max(m, n)) - low / 3) / 2,
                      .elements = 2 * Real(m) * Real(n),
                      .numbers = {m, n, lda},
                      .outputs = {{a, lda * n}},
                      .info = info});
}

cusolverStatus_t Getrs(Handle handle, Parameters, cublasOperation_t trans, std::int64_t n,
                       std::int64_t nrhs, Type type, const void*, std::int64_t lda,
                       const std::int64_t*, Type, void* b, std::int64_t ldb, int* info) {
  return Run(handle, {.name = "cusolver.getrs",
                      .type = type,
                      .multiply_adds = Real(n) * Real(n) * Real(nrhs),
                      .elements = Real(n) * Real(n) + 2 * Real(n) * Real(nrhs),
                      .numbers = {n, nrhs, lda, ldb, trans},
                      .outputs = {{b, ldb * nrhs}},
                      .info = info});
}

cusolverStatus_t PotrfSize(Handle handle, Parameters, cublasFillMode_t, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, std::size_t* device,
                           std::size_t* host) {
  return TellBytes(handle, type, kBlock * Real(n), device, host);
}

cusolverStatus_t Potrf(Handle handle, Parameters, cublasFillMode_t, std::int64_t n, Type type,
                       void* a, std::int64_t lda, Type, void*, std::size_t, void*, std::size_t,
                       int* info) {
  return Run(handle, {.name = "cusolver.potrf",
                      .type = type,
                      .multiply_adds = Real(n) * Real(n) * Real(n) / 6,
                      .elements = Real(n) * Real(n),
                      .numbers = {n, lda},
                      .outputs = {{a, lda * n}},
                      .info = info});
}

cusolverStatus_t Potrs(Handle handle, Parameters, cublasFillMode_t, std::int64_t n,
                       std::int64_t nrhs, Type type, const void*, std::int64_t lda, Type, void* b,
                       std::int64_t ldb, int* info) {
  return Run(handle, {.name = "cusolver.potrs",
                      .type = type,
                      .multiply_adds = Real(n) * Real(n) * Real(nrhs),
                      .elements = Real(n) * Real(n) / 2 + 2 * Real(n) * Real(nrhs),
                      .numbers = {n, nrhs, lda, ldb},
                      .outputs = {{b, ldb * nrhs}},
                      .info = info});
}

cusolverStatus_t GeqrfSize(Handle handle, Parameters, std::int64_t, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, const void*, Type, std::size_t* device,
                           std::size_t* host) {
  return TellBytes(handle, type, kBlock * Real(n), device, host);
}

cusolverStatus_t Geqrf(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                       void* a, std::int64_t lda, Type, void* tau, Type, void*, std::size_t, void*,
                       std::size_t, int* info) {
  const double low = Real(std::min(m, n));
  return Run(handle, {.name = "cusolver.geqrf",
                      .type = type,
                      .multiply_adds = low * low * (Real(std::max(m, n)) - low / 3),
                      .elements = 2 * Real(m) * Real(n),
                      .numbers = {m, n, lda},
                      .outputs = {{a, lda * n}, {tau, std::min(m, n)}},
                      .info = info});
}

cusolverStatus_t SytrsSize(Handle handle, cublasFillMode_t, std::int64_t n, std::int64_t nrhs,
                           Type type, const void*, std::int64_t, const std::int64_t*, Type, void*,
                           std::int64_t, std::size_t* device, std::size_t* host) {
  return TellBytes(handle, type, Real(n) * Real(nrhs), device, host);
}

cusolverStatus_t Sytrs(Handle handle, cublasFillMode_t, std::int64_t n, std::int64_t nrhs,
                       Type type, const void*, std::int64_t lda, const std::int64_t*, Type, void* b,
                       std::int64_t ldb, void*, std::size_t, void*, std::size_t, int* info) {
  return Run(handle, {.name = "cusolver.sytrs",
                      .type = type,
                      .multiply_adds = Real(n) * Real(n) * Real(nrhs),
                      .elements = Real(n) * Real(n) / 2 + 2 * Real(n) * Real(nrhs),
                      .numbers = {n, nrhs, lda, ldb},
                      .outputs = {{b, ldb * nrhs}},
                      .info = info});
}

cusolverStatus_t SyevdSize(Handle handle, Parameters, cusolverEigMode_t, cublasFillMode_t,
                           std::int64_t n, Type type, const void*, std::int64_t, Type, const void*,
                           Type, std::size_t* device, std::size_t* host) {
  return TellBytes(handle, type, 2 * Real(n) * Real(n) + 6 * Real(n), device, host);
}

cusolverStatus_t Syevd(Handle handle, Parameters parameters, cusolverEigMode_t mode,
                       cublasFillMode_t uplo, std::int64_t n, Type type, void* a, std::int64_t lda,
                       Type type_w, void* w, Type compute, void* device, std::size_t device_bytes,
                       void* host, std::size_t host_bytes, int* info) {
  return SyevBatched(handle, parameters, mode, uplo, n, type, a, lda, type_w, w, compute, device,
                     device_bytes, host, host_bytes, info, 1);
}

cusolverStatus_t SyevBatchedSize(Handle handle, Parameters, cusolverEigMode_t, cublasFillMode_t,
                                 std::int64_t n, Type type, const void*, std::int64_t, Type,
                                 const void*, Type, std::size_t* device, std::size_t* host,
                                 std::int64_t batch) {
  return TellBytes(handle, type, 2 * Real(n) * Real(n) * Real(batch), device, host);
}

cusolverStatus_t SyevBatched(Handle handle, Parameters, cusolverEigMode_t mode, cublasFillMode_t,
                             std::int64_t n, Type type, void* a, std::int64_t lda, Type, void* w,
                             Type, void*, std::size_t, void*, std::size_t, int* info,
                             std::int64_t batch) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  const double cube = Real(n) * Real(n) * Real(n);
  return Run(handle, {.name = "cusolver.syevd",
                      .type = type,
                      .multiply_adds = cube * 2 / 3 * VectorFactor(vectors) * Real(batch),
                      .elements = 4 * Real(n) * Real(n) * Real(batch),
                      .numbers = {n, batch, lda, vectors},
                      .outputs = {{a, lda * n * batch}, {w, n * batch}},
                      .info = info,
                      .info_count = batch});
}

cusolverStatus_t GeevSize(Handle handle, Parameters, cusolverEigMode_t, cusolverEigMode_t,
                          std::int64_t n, Type type, const void*, std::int64_t, Type, const void*,
                          Type, const void*, std::int64_t, Type, const void*, std::int64_t, Type,
                          std::size_t* device, std::size_t* host) {
  return TellBytes(handle, type, 2 * Real(n) * Real(n) + kBlock * Real(n), device, host);
}

cusolverStatus_t Geev(Handle handle, Parameters, cusolverEigMode_t left, cusolverEigMode_t right,
                      std::int64_t n, Type type, void* a, std::int64_t lda, Type, void* w, Type,
                      void* vl, std::int64_t ldvl, Type, void* vr, std::int64_t ldvr, Type, void*,
                      std::size_t, void*, std::size_t, int* info) {
  const bool vectors = left == CUSOLVER_EIG_MODE_VECTOR || right == CUSOLVER_EIG_MODE_VECTOR;
  // Golub and Van Loan, section 7.5: 10 n^3 operations without and 25 n^3 with vectors.
  const double cube = Real(n) * Real(n) * Real(n);
  return Run(handle, {.name = "cusolver.geev",
                      .type = type,
                      .multiply_adds = cube * (vectors ? 12.5 : 5),
                      .elements = 10 * Real(n) * Real(n),
                      .numbers = {n, lda, vectors},
                      .outputs = {{a, lda * n}, {w, 2 * n}, {vl, ldvl * n}, {vr, ldvr * n}},
                      .info = info});
}

}  // namespace eidolon::shim::cusolver::generic
