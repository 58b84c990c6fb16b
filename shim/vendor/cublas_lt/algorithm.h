// Algorithm selection of cuBLASLt. One algorithm exists; the timing service decides how fast a
// GEMM is, so what matters here is that selection succeeds exactly when the GEMM can run.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cublas_lt::algorithm {

inline constexpr int kId = 66;  // The number of the real library's tensor-core family of Hopper.

// True for a structure that Init or GetHeuristic filled in.
bool IsOurs(const cublasLtMatmulAlgo_t& algorithm);

cublasStatus_t GetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                            cublasLtMatmulPreference_t preference, int requested,
                            cublasLtMatmulHeuristicResult_t results[], int* returned);
cublasStatus_t GetIds(cublasLtHandle_t handle, cublasComputeType_t compute_type,
                      cudaDataType_t scale_type, cudaDataType_t a, cudaDataType_t b,
                      cudaDataType_t c, cudaDataType_t d, int requested, int ids[], int* returned);
cublasStatus_t Init(cublasLtHandle_t handle, cublasComputeType_t compute_type,
                    cudaDataType_t scale_type, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                    cudaDataType_t d, int id, cublasLtMatmulAlgo_t* algorithm);
cublasStatus_t Check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                     const cublasLtMatmulAlgo_t* algorithm,
                     cublasLtMatmulHeuristicResult_t* result);
cublasStatus_t ConfigSet(cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulAlgoConfigAttributes_t attribute, const void* value,
                         std::size_t bytes);
cublasStatus_t ConfigGet(const cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                         std::size_t bytes, std::size_t* written);
cublasStatus_t CapabilityGet(const cublasLtMatmulAlgo_t* algorithm,
                             cublasLtMatmulAlgoCapAttributes_t attribute, void* value,
                             std::size_t bytes, std::size_t* written);

}  // namespace eidolon::shim::cublas_lt::algorithm
