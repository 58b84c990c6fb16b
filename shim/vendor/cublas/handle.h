// The cuBLAS handle: stream, modes and workspace of the calls made through it.
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cublas {

// Owned by the program; used by one thread at a time, as with the real library.
struct Context : library::Opaque<Context> {
  static constexpr std::uint64_t kMagic = 0x437362756c616231u;

  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  void* workspace = nullptr;  // The program's own; nullptr: the library's pool.
  std::size_t workspace_bytes = 0;
  cublasEmulationStrategy_t emulation_strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
};

// cuBLAS's answer to an outcome of the emulated GPU.
cublasStatus_t ToCublas(gpu::Status status);

namespace handle {

cublasStatus_t Create(cublasHandle_t* handle);
cublasStatus_t Destroy(cublasHandle_t handle);
cublasStatus_t GetVersion(cublasHandle_t handle, int* version);
cublasStatus_t GetProperty(libraryPropertyType type, int* value);
std::size_t GetCudartVersion();
cublasStatus_t SetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t SetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t GetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t SetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t GetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t SetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t GetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
cublasStatus_t SetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t GetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t SetSmCountTarget(cublasHandle_t handle, int count);
cublasStatus_t GetSmCountTarget(cublasHandle_t handle, int* count);
cublasStatus_t SetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t strategy);
cublasStatus_t GetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* strategy);
const char* GetStatusName(cublasStatus_t status);
const char* GetStatusString(cublasStatus_t status);

}  // namespace handle
}  // namespace eidolon::shim::cublas
