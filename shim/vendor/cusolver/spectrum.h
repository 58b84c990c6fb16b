// Eigenvalues and singular values with a type prefix. Entry points are templates over the element
// type and the real type of the values. Iterative methods are counted as their direct counterparts.
#pragma once

#include <cstdint>

#include <cusolverDn.h>

#include "shim/vendor/cusolver/routine.h"

namespace eidolon::shim::cusolver::spectrum {

inline constexpr double kReduction = 2.0 / 3;  // Multiply-adds per n^3 to tridiagonal form.

// syevd, heevd.
template <typename T, typename R>
cusolverStatus_t SyevdSize(cusolverDnHandle_t handle, cusolverEigMode_t, cublasFillMode_t, int n,
                           const T*, int, const R*, int* size) {
  return TellSize(handle, 2.0 * n * n + 6.0 * n + 1, size);
}
template <typename T, typename R>
cusolverStatus_t Syevd(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t, int n,
                       T* a, int lda, R* w, T*, int, int* info) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  return Run(handle, {.name = "cusolver.syevd",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = kReduction * n * n * n * VectorFactor(vectors),
                      .elements = 4.0 * n * n,
                      .numbers = {n, lda, vectors},
                      .outputs = {{a, std::int64_t{lda} * n}, {w, n}},
                      .info = info});
}
// syevjBatched, heevjBatched.
template <typename T, typename R>
cusolverStatus_t SyevjBatchedSize(cusolverDnHandle_t handle, cusolverEigMode_t, cublasFillMode_t,
                                  int n, const T*, int, const R*, int* size, syevjInfo_t,
                                  int batch) {
  return TellSize(handle, 2.0 * n * n * batch, size);
}
template <typename T, typename R>
cusolverStatus_t SyevjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t,
                              int n, T* a, int lda, R* w, T*, int, int* info, syevjInfo_t,
                              int batch) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  return Run(handle, {.name = "cusolver.syevj_batched",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = kReduction * n * n * n * VectorFactor(vectors) * batch,
                      .elements = 4.0 * n * n * batch,
                      .numbers = {n, batch, lda, vectors},
                      .outputs = {{a, std::int64_t{lda} * n * batch}, {w, std::int64_t{n} * batch}},
                      .info = info,
                      .info_count = batch});
}

// Singular values of m x n: reduction to bidiagonal form, and vectors on top.
inline double SvdMultiplyAdds(double m, double n, bool vectors) {
  const double low = m < n ? m : n;
  const double high = m < n ? n : m;
  return 2 * low * low * (high - low / 3) * VectorFactor(vectors);
}

inline cusolverStatus_t GesvdSize(cusolverDnHandle_t handle, int m, int n, int* size) {
  return TellSize(handle, kBlock * (m + n), size);
}
template <typename T, typename R>
cusolverStatus_t Gesvd(cusolverDnHandle_t handle, signed char job_u, signed char job_v, int m,
                       int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T*, int, R*,
                       int* info) {
  const bool vectors = job_u != 'N' || job_v != 'N';
  return Run(handle, {.name = "cusolver.gesvd",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = SvdMultiplyAdds(m, n, vectors),
                      .elements = 4.0 * m * n,
                      .numbers = {m, n, lda, vectors},
                      .outputs = {{a, std::int64_t{lda} * n},
                                  {s, m < n ? m : n},
                                  {u, std::int64_t{ldu} * m},
                                  {v, std::int64_t{ldv} * n}},
                      .info = info});
}

template <typename T, typename R>
cusolverStatus_t GesvdjSize(cusolverDnHandle_t handle, cusolverEigMode_t, int, int m, int n,
                            const T*, int, const R*, const T*, int, const T*, int, int* size,
                            gesvdjInfo_t) {
  return TellSize(handle, 2.0 * m * n + kBlock * (m + n), size);
}
template <typename T, typename R>
cusolverStatus_t Gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t mode, int economy, int m,
                        int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T*, int,
                        int* info, gesvdjInfo_t) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  return Run(handle, {.name = "cusolver.gesvdj",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = SvdMultiplyAdds(m, n, vectors),
                      .elements = 4.0 * m * n,
                      .numbers = {m, n, lda, vectors, economy},
                      .outputs = {{a, std::int64_t{lda} * n},
                                  {s, m < n ? m : n},
                                  {u, std::int64_t{ldu} * m},
                                  {v, std::int64_t{ldv} * n}},
                      .info = info});
}

template <typename T, typename R>
cusolverStatus_t GesvdjBatchedSize(cusolverDnHandle_t handle, cusolverEigMode_t, int m, int n,
                                   const T*, int, const R*, const T*, int, const T*, int, int* size,
                                   gesvdjInfo_t, int batch) {
  return TellSize(handle, 2.0 * m * n * batch, size);
}
template <typename T, typename R>
cusolverStatus_t GesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n,
                               T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T*, int,
                               int* info, gesvdjInfo_t, int batch) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  return Run(handle, {.name = "cusolver.gesvdj_batched",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = SvdMultiplyAdds(m, n, vectors) * batch,
                      .elements = 4.0 * m * n * batch,
                      .numbers = {m, n, batch, lda, vectors},
                      .outputs = {{a, std::int64_t{lda} * n * batch},
                                  {s, std::int64_t{m < n ? m : n} * batch},
                                  {u, std::int64_t{ldu} * m * batch},
                                  {v, std::int64_t{ldv} * n * batch}},
                      .info = info,
                      .info_count = batch});
}

template <typename T, typename R>
cusolverStatus_t GesvdaBatchedSize(cusolverDnHandle_t handle, cusolverEigMode_t, int, int m, int n,
                                   const T*, int, long long, const R*, long long, const T*, int,
                                   long long, const T*, int, long long, int* size, int batch) {
  return TellSize(handle, 2.0 * m * n * batch, size);
}
template <typename T, typename R>
cusolverStatus_t GesvdaBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, int rank, int m,
                               int n, const T*, int lda, long long, R* s, long long stride_s, T* u,
                               int, long long stride_u, T* v, int, long long stride_v, T*, int,
                               int* info, double* residuals, int batch) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  for (int i = 0; residuals != nullptr && i < batch; ++i) residuals[i] = 0;
  return Run(handle,
             {.name = "cusolver.gesvda_batched",
              .type = library::kTypeOf<T>,
              .multiply_adds = SvdMultiplyAdds(m, n, vectors) * batch,
              .elements = 4.0 * m * n * batch,
              .numbers = {m, n, batch, lda, vectors, rank},
              .outputs = {{s, stride_s * batch}, {u, stride_u * batch}, {v, stride_v * batch}},
              .info = info,
              .info_count = batch});
}

}  // namespace eidolon::shim::cusolver::spectrum
