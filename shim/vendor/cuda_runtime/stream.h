// Streams and host functions, as the runtime shows them.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::stream {

cudaError_t Create(cudaStream_t* stream) noexcept;
cudaError_t CreateWithFlags(cudaStream_t* stream, unsigned flags) noexcept;
cudaError_t CreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) noexcept;
cudaError_t Destroy(cudaStream_t stream) noexcept;
cudaError_t Synchronize(cudaStream_t stream) noexcept;
cudaError_t Query(cudaStream_t stream) noexcept;
cudaError_t WaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) noexcept;

cudaError_t LaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) noexcept;
cudaError_t LaunchHostFuncV2(cudaStream_t stream, cudaHostFn_t function, void* data,
                             unsigned mode) noexcept;
cudaError_t AddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                        unsigned flags) noexcept;

cudaError_t GetDevice(cudaStream_t stream, int* device) noexcept;
cudaError_t GetFlags(cudaStream_t stream, unsigned* flags) noexcept;
cudaError_t GetId(cudaStream_t stream, unsigned long long* id) noexcept;
cudaError_t GetPriority(cudaStream_t stream, int* priority) noexcept;
cudaError_t GetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                         cudaLaunchAttributeValue* value) noexcept;
cudaError_t SetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                         const cudaLaunchAttributeValue* value) noexcept;
cudaError_t CopyAttributes(cudaStream_t target, cudaStream_t source) noexcept;

}  // namespace eidolon::shim::cuda_runtime::stream
