// Grouped GEMMs: several shapes in one call, each with its own batch of pointers.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cublas::gemm {

struct GroupTypes {
  cudaDataType_t a, b, c;
  cublasComputeType_t compute_type;
};
struct Group {
  std::int64_t m, n, k, size;
};

// One unit of work with the sums over all groups. Requires: `group` gives group i of `count`.
cublasStatus_t RunGrouped(cublasHandle_t handle, const GroupTypes& types, int count,
                          Group (*group)(const void* source, int index), const void* source);

template <typename Int>
struct GroupArrays {
  const Int* m;
  const Int* n;
  const Int* k;
  const Int* size;

  static Group At(const void* source, int i) {
    const auto& arrays = *static_cast<const GroupArrays*>(source);
    return {arrays.m[i], arrays.n[i], arrays.k[i], arrays.size[i]};
  }
};

template <typename Int>
cublasStatus_t GemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t*,
                                    const cublasOperation_t*, const Int m[], const Int n[],
                                    const Int k[], const void*, const void* const[],
                                    cudaDataType_t type_a, const Int[], const void* const[],
                                    cudaDataType_t type_b, const Int[], const void*, void* const[],
                                    cudaDataType_t type_c, const Int[], Int count, const Int size[],
                                    cublasComputeType_t compute_type) {
  const GroupArrays<Int> arrays{m, n, k, size};
  return RunGrouped(handle, {type_a, type_b, type_c, compute_type}, static_cast<int>(count),
                    &GroupArrays<Int>::At, &arrays);
}

template <typename Int, typename T>
cublasStatus_t GemmGroupedBatched(cublasHandle_t handle, const cublasOperation_t*,
                                  const cublasOperation_t*, const Int m[], const Int n[],
                                  const Int k[], const T*, const T* const[], const Int[],
                                  const T* const[], const Int[], const T*, T* const[], const Int[],
                                  Int count, const Int size[]) {
  constexpr auto type = library::kTypeOf<T>;
  constexpr auto compute = type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  const GroupArrays<Int> arrays{m, n, k, size};
  return RunGrouped(handle, {type, type, type, compute}, static_cast<int>(count),
                    &GroupArrays<Int>::At, &arrays);
}

}  // namespace eidolon::shim::cublas::gemm
