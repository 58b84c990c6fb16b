// Copies and memsets, as the runtime shows them.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::copy {

cudaError_t Copy(void* target, const void* source, size_t count, cudaMemcpyKind kind) noexcept;
cudaError_t CopyAsync(void* target, const void* source, size_t count, cudaMemcpyKind kind,
                      cudaStream_t stream) noexcept;
cudaError_t Copy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                   size_t width, size_t height, cudaMemcpyKind kind) noexcept;
cudaError_t Copy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                        size_t width, size_t height, cudaMemcpyKind kind,
                        cudaStream_t stream) noexcept;
cudaError_t Copy3D(const cudaMemcpy3DParms* parameters) noexcept;
cudaError_t Copy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) noexcept;
cudaError_t Copy3DPeer(const cudaMemcpy3DPeerParms* parameters) noexcept;
cudaError_t Copy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) noexcept;
cudaError_t CopyPeer(void* target, int target_device, const void* source, int source_device,
                     size_t count) noexcept;
cudaError_t CopyPeerAsync(void* target, int target_device, const void* source, int source_device,
                          size_t count, cudaStream_t stream) noexcept;
cudaError_t CopyBatchAsync(void* const* targets, const void* const* sources, const size_t* sizes,
                           size_t count, cudaMemcpyAttributes* attributes,
                           size_t* attribute_indices, size_t attribute_count,
                           cudaStream_t stream) noexcept;
cudaError_t CopyWithAttributesAsync(void* target, const void* source, size_t size,
                                    cudaMemcpyAttributes* attributes, cudaStream_t stream) noexcept;

cudaError_t CopyToSymbol(const void* symbol, const void* source, size_t count, size_t offset,
                         cudaMemcpyKind kind) noexcept;
cudaError_t CopyToSymbolAsync(const void* symbol, const void* source, size_t count, size_t offset,
                              cudaMemcpyKind kind, cudaStream_t stream) noexcept;
cudaError_t CopyFromSymbol(void* target, const void* symbol, size_t count, size_t offset,
                           cudaMemcpyKind kind) noexcept;
cudaError_t CopyFromSymbolAsync(void* target, const void* symbol, size_t count, size_t offset,
                                cudaMemcpyKind kind, cudaStream_t stream) noexcept;

cudaError_t Set(void* target, int value, size_t count) noexcept;
cudaError_t SetAsync(void* target, int value, size_t count, cudaStream_t stream) noexcept;
cudaError_t Set2D(void* target, size_t pitch, int value, size_t width, size_t height) noexcept;
cudaError_t Set2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                       cudaStream_t stream) noexcept;
cudaError_t Set3D(cudaPitchedPtr target, int value, cudaExtent extent) noexcept;
cudaError_t Set3DAsync(cudaPitchedPtr target, int value, cudaExtent extent,
                       cudaStream_t stream) noexcept;

cudaError_t Copy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations,
                             unsigned long long flags, cudaStream_t stream) noexcept;
cudaError_t Copy3DWithAttributesAsync(cudaMemcpy3DBatchOp* operation, unsigned long long flags,
                                      cudaStream_t stream) noexcept;

cudaError_t PrefetchAsync(const void* pointer, size_t count, cudaMemLocation location,
                          unsigned flags, cudaStream_t stream) noexcept;

}  // namespace eidolon::shim::cuda_runtime::copy
