// Copies with the parameters of CUDA 12. Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eidolon::shim::cuda_runtime_12::copy {

// `device` may be cudaCpuDeviceId.
cudaError_t PrefetchAsync(const void* pointer, std::size_t count, int device,
                          cudaStream_t stream) noexcept;

// `failed`, which may be null, gets the index of the operation that was refused, SIZE_MAX when
// there is none; in CUDA 13 it is gone.
cudaError_t CopyBatchAsync(void** targets, void** sources, std::size_t* sizes, std::size_t count,
                           cudaMemcpyAttributes* attributes, std::size_t* attribute_indices,
                           std::size_t attribute_count, std::size_t* failed,
                           cudaStream_t stream) noexcept;
cudaError_t Copy3DBatchAsync(std::size_t count, cudaMemcpy3DBatchOp* operations,
                             std::size_t* failed, unsigned long long flags,
                             cudaStream_t stream) noexcept;

}  // namespace eidolon::shim::cuda_runtime_12::copy
