// BLAS level 3 besides gemm, and cuBLAS's own matrix routines. Entry points are templates over
// index and element type.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/cublas/routine.h"

namespace eidolon::shim::cublas::level3 {

// syrk, herk: the scalars of herk are real.
template <typename Int, typename S, typename T>
cublasStatus_t Syrk(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, Int n,
                    Int k, const S*, const T*, Int lda, const S*, T* c, Int ldc) {
  const double half = 0.5 * double(n) * double(n);
  return Run(handle,
             {"cublas.syrk",
              library::kTypeOf<T>,
              half * double(k),
              double(n) * double(k) + 2.0 * half,
              {n, k, uplo, trans, lda, ldc},
              c,
              MatrixSpan(n, n, ldc)},
             1, {{{lda, trans == CUBLAS_OP_N ? n : k}, {ldc, n}}, {}});
}

// syr2k, her2k, syrkx, herkx.
template <typename Int, typename S, typename T>
cublasStatus_t Syr2k(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, Int n,
                     Int k, const T*, const T*, Int lda, const T*, Int ldb, const S*, T* c,
                     Int ldc) {
  const double half = 0.5 * double(n) * double(n);
  return Run(
      handle,
      {"cublas.syr2k",
       library::kTypeOf<T>,
       2.0 * half * double(k),
       2.0 * double(n) * double(k) + 2.0 * half,
       {n, k, uplo, trans, lda, ldb, ldc},
       c,
       MatrixSpan(n, n, ldc)},
      1,
      {{{lda, trans == CUBLAS_OP_N ? n : k}, {ldb, trans == CUBLAS_OP_N ? n : k}, {ldc, n}}, {}});
}

// symm, hemm.
template <typename Int, typename T>
cublasStatus_t Symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, Int m,
                    Int n, const T*, const T*, Int lda, const T*, Int ldb, const T*, T* c,
                    Int ldc) {
  const double order = double(side == CUBLAS_SIDE_LEFT ? m : n);
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.symm",
              library::kTypeOf<T>,
              mn * order,
              0.5 * order * order + 3.0 * mn,
              {m, n, side, uplo, lda, ldb, ldc},
              c,
              MatrixSpan(m, n, ldc)},
             2, {{{lda, side == CUBLAS_SIDE_LEFT ? m : n}, {ldb, m}, {ldc, m}}, {}});
}

template <typename Int, typename T>
cublasStatus_t Trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t trans, cublasDiagType_t, Int m, Int n, const T*, const T*,
                    Int lda, const T*, Int ldb, T* c, Int ldc) {
  const double order = double(side == CUBLAS_SIDE_LEFT ? m : n);
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.trmm",
              library::kTypeOf<T>,
              0.5 * mn * order,
              0.5 * order * order + 2.0 * mn,
              {m, n, side, uplo, trans, lda, ldb, ldc},
              c,
              MatrixSpan(m, n, ldc)},
             2, {{{lda, side == CUBLAS_SIDE_LEFT ? m : n}, {ldb, m}, {ldc, m}}, {}});
}

template <typename Int, typename T>
cublasStatus_t Trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t trans, cublasDiagType_t, Int m, Int n, const T*, const T*,
                    Int lda, T* b, Int ldb) {
  const double order = double(side == CUBLAS_SIDE_LEFT ? m : n);
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.trsm",
              library::kTypeOf<T>,
              0.5 * mn * order,
              0.5 * order * order + 2.0 * mn,
              {m, n, side, uplo, trans, lda, ldb},
              b,
              MatrixSpan(m, n, ldb)},
             2, {{{lda, side == CUBLAS_SIDE_LEFT ? m : n}, {ldb, m}}, {}});
}

template <typename Int, typename T>
cublasStatus_t TrsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                           cublasOperation_t trans, cublasDiagType_t, Int m, Int n, const T*,
                           const T* const[], Int lda, T* const b[], Int ldb, Int batch) {
  const double order = double(side == CUBLAS_SIDE_LEFT ? m : n);
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.trsm_batched",
              library::kTypeOf<T>,
              0.5 * mn * order * double(batch),
              (0.5 * order * order + 2.0 * mn) * double(batch),
              {m, n, batch, side, uplo, trans, lda, ldb},
              nullptr,
              MatrixSpan(m, n, ldb),
              b,
              batch},
             3, {{{lda, side == CUBLAS_SIDE_LEFT ? m : n}, {ldb, m}}, {}});
}

template <typename Int, typename T>
cublasStatus_t Geam(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n,
                    const T*, const T*, Int lda, const T*, const T*, Int ldb, T* c, Int ldc) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.geam",
              library::kTypeOf<T>,
              2.0 * mn,
              3.0 * mn,
              {m, n, ta, tb, lda, ldb, ldc},
              c,
              MatrixSpan(m, n, ldc)},
             2,
             {{{lda, ta == CUBLAS_OP_N ? m : n}, {ldb, tb == CUBLAS_OP_N ? m : n}, {ldc, m}}, {}});
}

template <typename Int, typename T>
cublasStatus_t Dgmm(cublasHandle_t handle, cublasSideMode_t side, Int m, Int n, const T*, Int lda,
                    const T*, Int incx, T* c, Int ldc) {
  const double mn = double(m) * double(n);
  return Run(handle,
             {"cublas.dgmm",
              library::kTypeOf<T>,
              mn,
              2.0 * mn + double(n),
              {m, n, side, lda, incx, ldc},
              c,
              MatrixSpan(m, n, ldc)},
             2, {{{lda, m}, {ldc, m}}, {}});
}

}  // namespace eidolon::shim::cublas::level3
