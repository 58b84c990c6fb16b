// cuBLASLt's handle and library-wide questions. A cuBLAS handle is a cuBLASLt handle too, as with
// the real libraries: PyTorch casts one to the other.
#pragma once

#include <cublasLt.h>

#include <cstddef>

namespace eidolon::shim::cublas_lt::library_state {

cublasStatus_t Create(cublasLtHandle_t* handle);
cublasStatus_t Destroy(cublasLtHandle_t handle);
std::size_t GetVersion();
std::size_t GetCudartVersion();
cublasStatus_t GetProperty(libraryPropertyType type, int* value);
cublasStatus_t HeuristicsCacheGetCapacity(std::size_t* capacity);
cublasStatus_t HeuristicsCacheSetCapacity(std::size_t capacity);
const char* GetStatusName(cublasStatus_t status);
const char* GetStatusString(cublasStatus_t status);

}  // namespace eidolon::shim::cublas_lt::library_state
