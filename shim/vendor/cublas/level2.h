// BLAS level 2: a matrix and vectors. Entry points are templates over index and element type.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/cublas/routine.h"

namespace eidolon::shim::cublas::level2 {

// Number of elements of T that take the room of `count` of R.
template <typename T, typename R>
constexpr std::int64_t CountAs(std::int64_t count) {
  constexpr auto own = static_cast<std::int64_t>(sizeof(R));
  constexpr auto other = static_cast<std::int64_t>(sizeof(T));
  return (count * own + other - 1) / other;
}

template <typename Int, typename T>
cublasStatus_t Gemv(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const T* alpha,
                    const T* a, Int lda, const T* x, Int incx, const T* beta, T* y, Int incy) {
  constexpr auto type = library::kTypeOf<T>;
  const double mn = double(m) * double(n);
  const compute::Gemm gemm =
      GemvAsGemm(trans, m, n, {a, type, lda}, {x, type, incx}, {y, type, incy});
  return Run(handle,
             {.name = "cublas.gemv",
              .type = type,
              .multiply_adds = mn,
              .elements = mn + double(m) + 2.0 * double(n),
              .numbers = {m, n, trans, lda, incx, incy},
              .output = y,
              .output_elements = Span(trans == CUBLAS_OP_N ? m : n, incy),
              .gemm = &gemm,
              .alpha = alpha,
              .beta = beta,
              .scale_type = type},
             2, {{{lda, m}}, {incx, incy}});
}

template <typename Int, typename S, typename T, typename R>
cublasStatus_t GemvStridedBatched(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n,
                                  const S* alpha, const T* a, Int lda, long long stride_a,
                                  const T* x, Int incx, long long stride_x, const S* beta, R* y,
                                  Int incy, long long stride_y, Int batch) {
  constexpr auto type = library::kTypeOf<T>;
  const double mn = double(m) * double(n);
  const auto last = Span(trans == CUBLAS_OP_N ? m : n, incy);
  const auto all = batch <= 0 || stride_y < 0 ? 0 : (batch - 1) * stride_y + last;
  const compute::Gemm gemm =
      GemvAsGemm(trans, m, n, {a, type, lda, stride_a}, {x, type, incx, stride_x},
                 {y, library::kTypeOf<R>, incy, stride_y}, batch);
  return Run(handle,
             {.name = "cublas.gemv_batched",
              .type = type,
              .multiply_adds = mn * double(batch),
              .elements = (mn + double(m) + 2.0 * double(n)) * double(batch),
              .numbers = {m, n, batch, trans, lda, stride_a},
              .output = y,
              .output_elements = CountAs<T, R>(all),
              .gemm = &gemm,
              .alpha = alpha,
              .beta = beta,
              .scale_type = library::kTypeOf<S>},
             3, {{{lda, m}}, {incx, incy}});
}

// The addresses of the results are in device memory.
template <typename Int, typename S, typename T, typename R>
cublasStatus_t GemvBatched(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const S*,
                           const T* const[], Int lda, const T* const[], Int incx, const S*,
                           R* const y[], Int incy, Int batch) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {.name = "cublas.gemv_batched",
              .type = library::kTypeOf<T>,
              .multiply_adds = mn * double(batch),
              .elements = (mn + double(m) + 2.0 * double(n)) * double(batch),
              .numbers = {m, n, batch, trans, lda, 0},
              .output_elements = CountAs<T, R>(Span(trans == CUBLAS_OP_N ? m : n, incy)),
              .output_table = y,
              .table_entries = batch},
             3, {{{lda, m}}, {incx, incy}});
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
             2, {{{lda, m}}, {incx, incy}});
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
             1, {{{lda, n}}, {incx, incy}});
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
             1, {{{lda, n}}, {incx}});
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
             1, {{{lda, n}}, {incx, incy}});
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
             1, {{{lda, n}}, {incx}});
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
             1, {{{lda, n}}, {incx}});
}

}  // namespace eidolon::shim::cublas::level2
