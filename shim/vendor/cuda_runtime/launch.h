// Kernel launches of the runtime API, among them the four functions behind <<<...>>>.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "shim/vendor/cuda_runtime/supplement.h"

namespace eidolon::shim::cuda_runtime::launch {

unsigned PushConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                           struct CUstream_st* stream) noexcept;
cudaError_t PopConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                             void* stream) noexcept;

cudaError_t LaunchKernelHandle(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream);
cudaError_t LaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                         std::size_t shared_bytes, cudaStream_t stream);
cudaError_t LaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream);
cudaError_t LaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                            void** arguments);

}  // namespace eidolon::shim::cuda_runtime::launch
