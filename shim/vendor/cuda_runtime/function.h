// Kernels of the runtime API: from symbols to kernels, attributes, occupancy, libraries.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "shim/gpu/module/module.h"

namespace eidolon::shim::cuda_runtime::function {

// The kernel that a host function (or a kernel handle, which calls also take) stands for. Failures
// are the thread's last error.
cudaError_t Find(const void* symbol, gpu::Kernel** kernel);

cudaError_t GetKernelBare(cudaKernel_t* kernel, const void* host_function) noexcept;
cudaError_t GetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t GetFunctionBySymbol(cudaFunction_t* function, const void* symbol);
cudaError_t GetName(const char** name, const void* symbol);
cudaError_t GetParamCount(const void* symbol, std::size_t* count);
cudaError_t GetParamInfo(const void* symbol, std::size_t index, std::size_t* offset,
                         std::size_t* bytes);
cudaError_t GetAttributes(cudaFuncAttributes* attributes, const void* symbol);
cudaError_t SetAttribute(const void* symbol, cudaFuncAttribute attribute, int value);
cudaError_t SetKernelAttribute(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                               int device);

cudaError_t AvailableDynamicShared(std::size_t* bytes, const void* symbol, int blocks, int threads);
cudaError_t MaxActiveBlocks(int* blocks, const void* symbol, int threads,
                            std::size_t dynamic_bytes);
cudaError_t MaxActiveBlocksWithFlags(int* blocks, const void* symbol, int threads,
                                     std::size_t dynamic_bytes, unsigned flags);
cudaError_t MaxActiveClusters(int* clusters, const void* symbol, const cudaLaunchConfig_t* config);
cudaError_t MaxPotentialCluster(int* blocks, const void* symbol, const cudaLaunchConfig_t* config);

}  // namespace eidolon::shim::cuda_runtime::function
