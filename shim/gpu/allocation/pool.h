// Stream-ordered memory pools. Freed memory stays in its pool up to the release threshold and is
// reused by requests of the same size class; the rest goes back to the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {

using PoolHandle = void*;  // cudaMemPool_t, CUmemoryPool.

// Numbers equal CUmemPool_attribute.
enum class PoolAttribute : int {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

Status CreatePool(int device, PoolHandle* result) noexcept;
Status DestroyPool(PoolHandle handle) noexcept;
// The device's default pool, and the one that stream-ordered allocation uses.
Status DefaultPool(int device, PoolHandle* result) noexcept;
Status CurrentPool(int device, PoolHandle* result) noexcept;
Status SetCurrentPool(int device, PoolHandle handle) noexcept;

Status AllocateFromPool(PoolHandle handle, std::uint64_t bytes, StreamHandle stream,
                        std::uint64_t* address) noexcept;
Status AllocateAsync(std::uint64_t bytes, StreamHandle stream, std::uint64_t* address) noexcept;
Status FreeAsync(std::uint64_t address, StreamHandle stream) noexcept;
// Frees pool memory with cudaFree's semantics; kNotFound when no pool made the address.
Status FreePooled(std::uint64_t address) noexcept;

Status TrimPool(PoolHandle handle, std::uint64_t keep_bytes) noexcept;
// Values of 32-bit attributes are 0 or 1.
Status GetPoolAttribute(PoolHandle handle, PoolAttribute attribute, std::uint64_t* value) noexcept;
Status SetPoolAttribute(PoolHandle handle, PoolAttribute attribute, std::uint64_t value) noexcept;

// Memory that captured allocations hold is pool memory here: what graphs hold beyond it is nothing,
// now and at most. Numbers are cudaGraphMemAttributeType's, 0 to 3.
Status GetGraphMemoryAttribute(int device, int attribute, std::uint64_t* value) noexcept;
Status SetGraphMemoryAttribute(int device, int attribute, std::uint64_t value) noexcept;

}  // namespace eidolon::shim::gpu
