// Factorisations and solves with a type prefix. Entry points are templates over the element type.
#pragma once

#include <cstdint>

#include <cusolverDn.h>

#include "shim/vendor/cusolver/routine.h"

namespace eidolon::shim::cusolver::factorisation {

template <typename T>
cusolverStatus_t GetrfSize(cusolverDnHandle_t handle, int m, int n, T*, int, int* size) {
  return TellSize(handle, kBlock * (m > n ? m : n), size);
}
template <typename T>
cusolverStatus_t Getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T*, int*,
                       int* info) {
  const double low = m < n ? m : n;
  const double high = m < n ? n : m;
  return Run(handle, {.name = "cusolver.getrf",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = low * low * (high - low / 3) / 2,
                      .elements = 2.0 * m * n,
                      .numbers = {m, n, lda},
                      .outputs = {{a, std::int64_t{lda} * n}},
                      .info = info});
}
template <typename T>
cusolverStatus_t Getrs(cusolverDnHandle_t handle, cublasOperation_t trans, int n, int nrhs,
                       const T*, int lda, const int*, T* b, int ldb, int* info) {
  return Run(handle, {.name = "cusolver.getrs",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * nrhs,
                      .elements = double(n) * n + 2.0 * n * nrhs,
                      .numbers = {n, nrhs, lda, ldb, trans},
                      .outputs = {{b, std::int64_t{ldb} * nrhs}},
                      .info = info});
}

template <typename T>
cusolverStatus_t PotrfSize(cusolverDnHandle_t handle, cublasFillMode_t, int n, T*, int, int* size) {
  return TellSize(handle, kBlock * n, size);
}
template <typename T>
cusolverStatus_t Potrf(cusolverDnHandle_t handle, cublasFillMode_t, int n, T* a, int lda, T*, int,
                       int* info) {
  return Run(handle, {.name = "cusolver.potrf",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * n / 6,
                      .elements = double(n) * n,
                      .numbers = {n, lda},
                      .outputs = {{a, std::int64_t{lda} * n}},
                      .info = info});
}
template <typename T>
cusolverStatus_t Potrs(cusolverDnHandle_t handle, cublasFillMode_t, int n, int nrhs, const T*,
                       int lda, T* b, int ldb, int* info) {
  return Run(handle, {.name = "cusolver.potrs",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * nrhs,
                      .elements = double(n) * n / 2 + 2.0 * n * nrhs,
                      .numbers = {n, nrhs, lda, ldb},
                      .outputs = {{b, std::int64_t{ldb} * nrhs}},
                      .info = info});
}
template <typename T>
cusolverStatus_t PotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t, int n, T**, int lda,
                              int* info, int batch) {
  return Run(handle, {.name = "cusolver.potrf_batched",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * n / 6 * batch,
                      .elements = double(n) * n * batch,
                      .numbers = {n, batch, lda},
                      .outputs = {},
                      .info = info,
                      .info_count = batch});
}
template <typename T>
cusolverStatus_t PotrsBatched(cusolverDnHandle_t handle, cublasFillMode_t, int n, int nrhs, T**,
                              int lda, T**, int ldb, int* info, int batch) {
  return Run(handle, {.name = "cusolver.potrs_batched",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * nrhs * batch,
                      .elements = (double(n) * n / 2 + 2.0 * n * nrhs) * batch,
                      .numbers = {n, nrhs, batch, lda, ldb},
                      .outputs = {},
                      .info = info});
}

template <typename T>
cusolverStatus_t GeqrfSize(cusolverDnHandle_t handle, int, int n, T*, int, int* size) {
  return TellSize(handle, kBlock * n, size);
}
template <typename T>
cusolverStatus_t Geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T*, int,
                       int* info) {
  const double low = m < n ? m : n;
  const double high = m < n ? n : m;
  return Run(handle, {.name = "cusolver.geqrf",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = low * low * (high - low / 3),
                      .elements = 2.0 * m * n,
                      .numbers = {m, n, lda},
                      .outputs = {{a, std::int64_t{lda} * n}, {tau, m < n ? m : n}},
                      .info = info});
}
// orgqr, ungqr.
template <typename T>
cusolverStatus_t OrgqrSize(cusolverDnHandle_t handle, int, int n, int, const T*, int, const T*,
                           int* size) {
  return TellSize(handle, kBlock * n, size);
}
template <typename T>
cusolverStatus_t Orgqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T*, T*,
                       int, int* info) {
  return Run(handle,
             {.name = "cusolver.orgqr",
              .type = library::kTypeOf<T>,
              .multiply_adds = 2.0 * m * n * k - double(m + n) * k * k + 2.0 / 3 * k * k * k,
              .elements = 2.0 * m * n,
              .numbers = {m, n, k, lda},
              .outputs = {{a, std::int64_t{lda} * n}},
              .info = info});
}
// ormqr, unmqr.
template <typename T>
cusolverStatus_t OrmqrSize(cusolverDnHandle_t handle, cublasSideMode_t, cublasOperation_t, int m,
                           int n, int, const T*, int, const T*, const T*, int, int* size) {
  return TellSize(handle, kBlock * (m > n ? m : n), size);
}
template <typename T>
cusolverStatus_t Ormqr(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans,
                       int m, int n, int k, const T*, int lda, const T*, T* c, int ldc, T*, int,
                       int* info) {
  return Run(handle, {.name = "cusolver.ormqr",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = 2.0 * m * n * k,
                      .elements = 2.0 * m * n + double(side == CUBLAS_SIDE_LEFT ? m : n) * k,
                      .numbers = {m, n, k, lda, ldc, side, trans},
                      .outputs = {{c, std::int64_t{ldc} * n}},
                      .info = info});
}

template <typename T>
cusolverStatus_t SytrfSize(cusolverDnHandle_t handle, int n, T*, int, int* size) {
  return TellSize(handle, kBlock * n, size);
}
template <typename T>
cusolverStatus_t Sytrf(cusolverDnHandle_t handle, cublasFillMode_t, int n, T* a, int lda, int*, T*,
                       int, int* info) {
  return Run(handle, {.name = "cusolver.sytrf",
                      .type = library::kTypeOf<T>,
                      .multiply_adds = double(n) * n * n / 6,
                      .elements = double(n) * n,
                      .numbers = {n, lda},
                      .outputs = {{a, std::int64_t{lda} * n}},
                      .info = info});
}

}  // namespace eidolon::shim::cusolver::factorisation
