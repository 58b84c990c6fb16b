// Stream-ordered allocation and its pools, as the runtime shows them.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::pool {

cudaError_t MallocAsync(void** pointer, size_t size, cudaStream_t stream) noexcept;
cudaError_t MallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                cudaStream_t stream) noexcept;
cudaError_t FreeAsync(void* pointer, cudaStream_t stream) noexcept;

cudaError_t Create(cudaMemPool_t* pool, const cudaMemPoolProps* properties) noexcept;
cudaError_t Destroy(cudaMemPool_t pool) noexcept;
cudaError_t TrimTo(cudaMemPool_t pool, size_t keep) noexcept;
cudaError_t GetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) noexcept;
cudaError_t SetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) noexcept;
cudaError_t GetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                      cudaMemLocation* location) noexcept;
cudaError_t SetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) noexcept;

cudaError_t GetDefault(cudaMemPool_t* pool, int device) noexcept;
cudaError_t GetCurrent(cudaMemPool_t* pool, int device) noexcept;
cudaError_t SetCurrent(int device, cudaMemPool_t pool) noexcept;

// By location: only devices have pools.
cudaError_t GetDefaultAt(cudaMemPool_t* pool, cudaMemLocation* location,
                         cudaMemAllocationType type) noexcept;
cudaError_t GetCurrentAt(cudaMemPool_t* pool, cudaMemLocation* location,
                         cudaMemAllocationType type) noexcept;
cudaError_t SetCurrentAt(cudaMemLocation* location, cudaMemAllocationType type,
                         cudaMemPool_t pool) noexcept;

cudaError_t GetGraphAttribute(int device, cudaGraphMemAttributeType attribute,
                              void* value) noexcept;
cudaError_t SetGraphAttribute(int device, cudaGraphMemAttributeType attribute,
                              void* value) noexcept;
cudaError_t TrimGraphs(int device) noexcept;

}  // namespace eidolon::shim::cuda_runtime::pool
