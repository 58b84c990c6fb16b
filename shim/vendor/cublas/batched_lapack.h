// Batched factorisations and solves on arrays of matrix pointers. They are assumed to succeed:
// status words read 0. Operation counts are LAPACK's leading terms.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/cublas/routine.h"

namespace eidolon::shim::cublas::batched_lapack {

template <typename T>
cublasStatus_t Getrf(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,
                     int batch) {
  const double nn = double(n) * n;
  const auto status = Run(handle,
                          {"cublas.getrf_batched",
                           library::kTypeOf<T>,
                           nn * n / 3.0 * batch,
                           2.0 * nn * batch,
                           {n, batch, lda, pivots != nullptr},
                           nullptr,
                           MatrixSpan(n, n, lda),
                           a,
                           batch},
                          2, {{{lda, n}}, {}});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  NoteOverwritten(handle, pivots, std::int64_t{n} * batch);
  ReportSuccess(handle, info, batch);
  return status;
}

template <typename T>
cublasStatus_t Getri(cublasHandle_t handle, int n, const T* const[], int lda, const int*,
                     T* const c[], int ldc, int* info, int batch) {
  const double nn = double(n) * n;
  const auto status = Run(handle,
                          {"cublas.getri_batched",
                           library::kTypeOf<T>,
                           2.0 / 3.0 * nn * n * batch,
                           2.0 * nn * batch,
                           {n, batch, lda, ldc},
                           nullptr,
                           MatrixSpan(n, n, ldc),
                           c,
                           batch},
                          2, {{{lda, n}, {ldc, n}}, {}});
  if (status == CUBLAS_STATUS_SUCCESS) ReportSuccess(handle, info, batch);
  return status;
}

template <typename T>
cublasStatus_t Matinv(cublasHandle_t handle, int n, const T* const[], int lda, T* const c[],
                      int ldc, int* info, int batch) {
  const double nn = double(n) * n;
  const auto status = Run(handle,
                          {"cublas.matinv_batched",
                           library::kTypeOf<T>,
                           nn * n * batch,
                           2.0 * nn * batch,
                           {n, batch, lda, ldc},
                           nullptr,
                           MatrixSpan(n, n, ldc),
                           c,
                           batch},
                          2, {{{lda, n}, {ldc, n}}, {}});
  if (status == CUBLAS_STATUS_SUCCESS) ReportSuccess(handle, info, batch);
  return status;
}

// The status word of the next two is on the host: the arguments were good.
template <typename T>
cublasStatus_t Getrs(cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,
                     const T* const[], int lda, const int*, T* const b[], int ldb, int* info,
                     int batch) {
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *info = 0;
  const double nn = double(n) * n;
  return Run(handle,
             {"cublas.getrs_batched",
              library::kTypeOf<T>,
              nn * nrhs * batch,
              (nn + 2.0 * n * nrhs) * batch,
              {n, nrhs, batch, trans, lda, ldb},
              nullptr,
              MatrixSpan(n, nrhs, ldb),
              b,
              batch},
             3);
}

template <typename T>
cublasStatus_t Geqrf(cublasHandle_t handle, int m, int n, T* const a[], int lda, T* const[],
                     int* info, int batch) {
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *info = 0;
  const double mn = double(m) * n;
  const double low = m < n ? m : n;
  const double high = m < n ? n : m;
  return Run(handle,
             {"cublas.geqrf_batched",
              library::kTypeOf<T>,
              low * low * (high - low / 3.0) * batch,
              2.0 * mn * batch,
              {m, n, batch, lda},
              nullptr,
              MatrixSpan(m, n, lda),
              a,
              batch},
             3);
}

template <typename T>
cublasStatus_t Gels(cublasHandle_t handle, cublasOperation_t trans, int m, int n, int nrhs,
                    T* const[], int lda, T* const c[], int ldc, int* info, int* device_info,
                    int batch) {
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *info = 0;
  const double mn = double(m) * n;
  const double factor = double(n) * n * (m - n / 3.0);
  const auto status = Run(handle,
                          {"cublas.gels_batched",
                           library::kTypeOf<T>,
                           (factor + 2.0 * mn * nrhs) * batch,
                           (2.0 * mn + 2.0 * m * nrhs) * batch,
                           {m, n, nrhs, batch, trans, lda, ldc},
                           nullptr,
                           MatrixSpan(m > n ? m : n, nrhs, ldc),
                           c,
                           batch},
                          4);
  if (status == CUBLAS_STATUS_SUCCESS) ReportSuccess(handle, device_info, batch);
  return status;
}

}  // namespace eidolon::shim::cublas::batched_lapack
