// cublasLtMatmul and cublasLtMatrixTransform: the calls that put work on a stream.
#pragma once

#include <cublasLt.h>

#include <cstddef>

namespace eidolon::shim::cublas_lt::matmul {

cublasStatus_t Matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                      const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                      cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                      cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream);

cublasStatus_t Transform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                         const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                         const void* beta, const void* b, cublasLtMatrixLayout_t layout_b, void* c,
                         cublasLtMatrixLayout_t layout_c, cudaStream_t stream);

}  // namespace eidolon::shim::cublas_lt::matmul
