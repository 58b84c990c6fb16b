// BLAS level 2: a matrix and vectors. Entry points are templates over index and element type.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/cublas/routine.h"

namespace eidolon::shim::cublas::level2 {

template <typename Int, typename T>
cublasStatus_t Gemv(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const T*,
                    const T*, Int lda, const T*, Int incx, const T*, T* y, Int incy) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.gemv",
              library::kTypeOf<T>,
              mn,
              mn + double(m) + 2.0 * double(n),
              {m, n, trans, lda, incx, incy},
              y,
              Span(trans == CUBLAS_OP_N ? m : n, incy)},
             2);
}

template <typename Int, typename S, typename T, typename R>
cublasStatus_t GemvStridedBatched(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n,
                                  const S*, const T*, Int lda, long long stride_a, const T*, Int,
                                  long long, const S*, R* y, Int incy, long long stride_y,
                                  Int batch) {
  const double mn = double(m) * double(n);
  const auto last = Span(trans == CUBLAS_OP_N ? m : n, incy);
  return Run(handle,
             {"cublas.gemv_batched",
              library::kTypeOf<T>,
              mn * double(batch),
              (mn + double(m) + 2.0 * double(n)) * double(batch),
              {m, n, batch, trans, lda, stride_a},
              y,
              batch <= 0 || stride_y < 0 ? 0 : (batch - 1) * stride_y + last},
             3);
}

// The addresses of the results are in device memory; what is known of them stays known.
template <typename Int, typename S, typename T, typename R>
cublasStatus_t GemvBatched(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const S*,
                           const T* const[], Int lda, const T* const[], Int, const S*, R* const[],
                           Int, Int batch) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.gemv_batched",
              library::kTypeOf<T>,
              mn * double(batch),
              (mn + double(m) + 2.0 * double(n)) * double(batch),
              {m, n, batch, trans, lda, 0},
              nullptr,
              0},
             3);
}

// ger, geru, gerc.
template <typename Int, typename T>
cublasStatus_t Ger(cublasHandle_t handle, Int m, Int n, const T*, const T*, Int incx, const T*,
                   Int incy, T* a, Int lda) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.ger",
              library::kTypeOf<T>,
              mn,
              2.0 * mn + double(m) + double(n),
              {m, n, lda, incx, incy},
              a,
              MatrixSpan(m, n, lda)},
             2);
}

// symv, hemv.
template <typename Int, typename T>
cublasStatus_t Symv(cublasHandle_t handle, cublasFillMode_t uplo, Int n, const T*, const T*,
                    Int lda, const T*, Int incx, const T*, T* y, Int incy) {
  const double nn = double(n) * double(n);
  return Run(handle,
             {"cublas.symv",
              library::kTypeOf<T>,
              nn,
              0.5 * nn + 3.0 * double(n),
              {n, uplo, lda, incx, incy},
              y,
              Span(n, incy)},
             1);
}

// syr, her: the scalar of her is real.
template <typename Int, typename S, typename T>
cublasStatus_t Syr(cublasHandle_t handle, cublasFillMode_t uplo, Int n, const S*, const T*,
                   Int incx, T* a, Int lda) {
  const double nn = double(n) * double(n);
  return Run(handle,
             {"cublas.syr",
              library::kTypeOf<T>,
              0.5 * nn,
              nn + double(n),
              {n, uplo, lda, incx},
              a,
              MatrixSpan(n, n, lda)},
             1);
}

// syr2, her2.
template <typename Int, typename T>
cublasStatus_t Syr2(cublasHandle_t handle, cublasFillMode_t uplo, Int n, const T*, const T*,
                    Int incx, const T*, Int incy, T* a, Int lda) {
  const double nn = double(n) * double(n);
  return Run(handle,
             {"cublas.syr2",
              library::kTypeOf<T>,
              nn,
              nn + 2.0 * double(n),
              {n, uplo, lda, incx, incy},
              a,
              MatrixSpan(n, n, lda)},
             1);
}

template <typename Int, typename T>
cublasStatus_t Trmv(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                    cublasDiagType_t, Int n, const T*, Int lda, T* x, Int incx) {
  const double nn = double(n) * double(n);
  return Run(handle,
             {"cublas.trmv",
              library::kTypeOf<T>,
              0.5 * nn,
              0.5 * nn + 2.0 * double(n),
              {n, uplo, trans, lda, incx},
              x,
              Span(n, incx)},
             1);
}

template <typename Int, typename T>
cublasStatus_t Trsv(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                    cublasDiagType_t, Int n, const T*, Int lda, T* x, Int incx) {
  const double nn = double(n) * double(n);
  return Run(handle,
             {"cublas.trsv",
              library::kTypeOf<T>,
              0.5 * nn,
              0.5 * nn + 2.0 * double(n),
              {n, uplo, trans, lda, incx},
              x,
              Span(n, incx)},
             1);
}

}  // namespace eidolon::shim::cublas::level2
