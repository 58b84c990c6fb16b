// GEMMs: every spelling of C = alpha op(A) op(B) + beta C becomes one workload::Gemm.
//
// The entry points are templates over the index type (int, or int64_t in the _64 variants) and the
// element type, so that one function serves the four type prefixes of BLAS.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cublas::gemm {

struct Operand {
  const void* address = nullptr;  // Of the first matrix, or of the array of pointers.
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t leading = 0;
  std::int64_t stride = 0;  // Between batch members, elements.
};

struct Problem {
  cublasOperation_t transpose_a = CUBLAS_OP_N;
  cublasOperation_t transpose_b = CUBLAS_OP_N;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  Operand a, b;
  const void* beta = nullptr;
  Operand c;  // Written, and read unless beta is zero.
  cublasComputeType_t compute_type = CUBLAS_COMPUTE_32F;
  std::int64_t batch = 1;
  bool pointer_array = false;
};

// Validates as cuBLAS does and submits.
cublasStatus_t Run(cublasHandle_t handle, const Problem& problem);

// The compute type that a typed call uses on this handle.
cublasComputeType_t ComputeTypeOf(cudaDataType_t type);

template <typename Int, typename T>
cublasStatus_t Gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n,
                    Int k, const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta,
                    T* c, Int ldc) {
  constexpr auto type = library::kTypeOf<T>;
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type, lda},
                      .b = {b, type, ldb},
                      .beta = beta,
                      .c = {c, type, ldc},
                      .compute_type = ComputeTypeOf(type)});
}

template <typename Int, typename T>
cublasStatus_t GemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                                  Int m, Int n, Int k, const T* alpha, const T* a, Int lda,
                                  long long stride_a, const T* b, Int ldb, long long stride_b,
                                  const T* beta, T* c, Int ldc, long long stride_c, Int batch) {
  constexpr auto type = library::kTypeOf<T>;
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type, lda, stride_a},
                      .b = {b, type, ldb, stride_b},
                      .beta = beta,
                      .c = {c, type, ldc, stride_c},
                      .compute_type = ComputeTypeOf(type),
                      .batch = batch});
}

template <typename Int, typename T>
cublasStatus_t GemmBatched(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m,
                           Int n, Int k, const T* alpha, const T* const a[], Int lda,
                           const T* const b[], Int ldb, const T* beta, T* const c[], Int ldc,
                           Int batch) {
  constexpr auto type = library::kTypeOf<T>;
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type, lda},
                      .b = {b, type, ldb},
                      .beta = beta,
                      .c = {c, type, ldc},
                      .compute_type = ComputeTypeOf(type),
                      .batch = batch,
                      .pointer_array = true});
}

// cublasSgemmEx, cublasCgemmEx: typed scalars, free operand types.
template <typename Int, typename T>
cublasStatus_t TypedGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m,
                           Int n, Int k, const T* alpha, const void* a, cudaDataType_t type_a,
                           Int lda, const void* b, cudaDataType_t type_b, Int ldb, const T* beta,
                           void* c, cudaDataType_t type_c, Int ldc) {
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type_a, lda},
                      .b = {b, type_b, ldb},
                      .beta = beta,
                      .c = {c, type_c, ldc},
                      .compute_type = CUBLAS_COMPUTE_32F});
}

template <typename Int>
cublasStatus_t GemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, Int m,
                      Int n, Int k, const void* alpha, const void* a, cudaDataType_t type_a,
                      Int lda, const void* b, cudaDataType_t type_b, Int ldb, const void* beta,
                      void* c, cudaDataType_t type_c, Int ldc, cublasComputeType_t compute_type,
                      cublasGemmAlgo_t) {
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type_a, lda},
                      .b = {b, type_b, ldb},
                      .beta = beta,
                      .c = {c, type_c, ldc},
                      .compute_type = compute_type});
}

template <typename Int>
cublasStatus_t GemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                    cublasOperation_t tb, Int m, Int n, Int k, const void* alpha,
                                    const void* a, cudaDataType_t type_a, Int lda,
                                    long long stride_a, const void* b, cudaDataType_t type_b,
                                    Int ldb, long long stride_b, const void* beta, void* c,
                                    cudaDataType_t type_c, Int ldc, long long stride_c, Int batch,
                                    cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type_a, lda, stride_a},
                      .b = {b, type_b, ldb, stride_b},
                      .beta = beta,
                      .c = {c, type_c, ldc, stride_c},
                      .compute_type = compute_type,
                      .batch = batch});
}

template <typename Int>
cublasStatus_t GemmBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                             Int m, Int n, Int k, const void* alpha, const void* const a[],
                             cudaDataType_t type_a, Int lda, const void* const b[],
                             cudaDataType_t type_b, Int ldb, const void* beta, void* const c[],
                             cudaDataType_t type_c, Int ldc, Int batch,
                             cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  return Run(handle, {.transpose_a = ta,
                      .transpose_b = tb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = alpha,
                      .a = {a, type_a, lda},
                      .b = {b, type_b, ldb},
                      .beta = beta,
                      .c = {c, type_c, ldc},
                      .compute_type = compute_type,
                      .batch = batch,
                      .pointer_array = true});
}

}  // namespace eidolon::shim::cublas::gemm
