// Attributes of a pool travel through an untyped pointer: the first three are ints, the others
// 64-bit numbers, and a wrong width would overwrite the program's memory. Access of other devices
// is granted from the start, so setting it only checks the devices.
#include "shim/vendor/cuda_runtime/pool.h"

#include <cstring>

#include "shim/gpu/allocation/pool.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device_attributes.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::pool {
namespace {

using error_state::Finish;
using gpu::Status;

// Attributes 1 to 3 are ints, the others 64-bit numbers.
bool IsFlag(cudaMemPoolAttr attribute) { return static_cast<int>(attribute) <= 3; }

Status CheckLocation(const cudaMemLocation* location, cudaMemAllocationType type) {
  if (location == nullptr) return Status::kInvalidValue;
  const bool on_device = location->type == cudaMemLocationTypeDevice;
  return on_device && type == cudaMemAllocationTypePinned ? Status::kSuccess
                                                          : Status::kNotSupported;
}

cudaError_t Answer(Status status, std::uint64_t address, void** pointer) {
  if (status == Status::kSuccess) *pointer = reinterpret_cast<void*>(address);
  return Finish(status);
}

}  // namespace

cudaError_t MallocAsync(void** pointer, size_t size, cudaStream_t stream) noexcept {
  if (pointer == nullptr) return Finish(Status::kInvalidValue);
  std::uint64_t address = 0;
  Status status = gpu::EnsureContext();
  if (status == Status::kSuccess) status = gpu::AllocateAsync(size, stream, &address);
  return Answer(status, address, pointer);
}

cudaError_t MallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                cudaStream_t stream) noexcept {
  if (pointer == nullptr) return Finish(Status::kInvalidValue);
  std::uint64_t address = 0;
  const Status status = gpu::AllocateFromPool(pool, size, stream, &address);
  return Answer(status, address, pointer);
}

cudaError_t FreeAsync(void* pointer, cudaStream_t stream) noexcept {
  return Finish(gpu::FreeAsync(reinterpret_cast<std::uint64_t>(pointer), stream));
}

cudaError_t Create(cudaMemPool_t* pool, const cudaMemPoolProps* properties) noexcept {
  if (pool == nullptr || properties == nullptr) return Finish(Status::kInvalidValue);
  if (properties->location.type != cudaMemLocationTypeDevice) return Finish(Status::kNotSupported);
  gpu::PoolHandle handle = nullptr;
  Status status = gpu::EnsureContext();
  if (status == Status::kSuccess) status = gpu::CreatePool(properties->location.id, &handle);
  if (status == Status::kSuccess) *pool = static_cast<cudaMemPool_t>(handle);
  return Finish(status);
}

cudaError_t Destroy(cudaMemPool_t pool) noexcept { return Finish(gpu::DestroyPool(pool)); }

cudaError_t TrimTo(cudaMemPool_t pool, size_t keep) noexcept {
  return Finish(gpu::TrimPool(pool, keep));
}

cudaError_t GetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) noexcept {
  if (value == nullptr) return Finish(Status::kInvalidValue);
  std::uint64_t number = 0;
  const Status status =
      gpu::GetPoolAttribute(pool, static_cast<gpu::PoolAttribute>(attribute), &number);
  if (status != Status::kSuccess) return Finish(status);
  const auto flag = static_cast<int>(number);
  IsFlag(attribute) ? std::memcpy(value, &flag, sizeof(flag))
                    : std::memcpy(value, &number, sizeof(number));
  return cudaSuccess;
}

cudaError_t SetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) noexcept {
  if (value == nullptr) return Finish(Status::kInvalidValue);
  std::uint64_t number = 0;
  std::memcpy(&number, value, IsFlag(attribute) ? sizeof(int) : sizeof(number));
  return Finish(gpu::SetPoolAttribute(pool, static_cast<gpu::PoolAttribute>(attribute), number));
}

cudaError_t GetAccess(cudaMemAccessFlags* flags, cudaMemPool_t,
                      cudaMemLocation* location) noexcept {
  if (flags == nullptr || location == nullptr) return Finish(Status::kInvalidValue);
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t SetAccess(cudaMemPool_t, const cudaMemAccessDesc* access, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (access == nullptr || access[i].location.id >= gpu::DeviceCount()) {
      return Finish(Status::kInvalidDevice);
    }
  }
  return cudaSuccess;
}

cudaError_t GetDefault(cudaMemPool_t* pool, int device) noexcept {
  gpu::PoolHandle handle = nullptr;
  const Status status = pool == nullptr ? Status::kInvalidValue : gpu::DefaultPool(device, &handle);
  if (status == Status::kSuccess) *pool = static_cast<cudaMemPool_t>(handle);
  return Finish(status);
}

cudaError_t GetCurrent(cudaMemPool_t* pool, int device) noexcept {
  gpu::PoolHandle handle = nullptr;
  const Status status = pool == nullptr ? Status::kInvalidValue : gpu::CurrentPool(device, &handle);
  if (status == Status::kSuccess) *pool = static_cast<cudaMemPool_t>(handle);
  return Finish(status);
}

cudaError_t SetCurrent(int device, cudaMemPool_t pool) noexcept {
  return Finish(gpu::SetCurrentPool(device, pool));
}

cudaError_t GetDefaultAt(cudaMemPool_t* pool, cudaMemLocation* location,
                         cudaMemAllocationType type) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? GetDefault(pool, location->id) : Finish(status);
}

cudaError_t GetCurrentAt(cudaMemPool_t* pool, cudaMemLocation* location,
                         cudaMemAllocationType type) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? GetCurrent(pool, location->id) : Finish(status);
}

cudaError_t SetCurrentAt(cudaMemLocation* location, cudaMemAllocationType type,
                         cudaMemPool_t pool) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? SetCurrent(location->id, pool) : Finish(status);
}

cudaError_t GetGraphAttribute(int device, cudaGraphMemAttributeType attribute,
                              void* value) noexcept {
  std::uint64_t number = 0;
  const Status status =
      value == nullptr ? Status::kInvalidValue
                       : gpu::GetGraphMemoryAttribute(device, static_cast<int>(attribute), &number);
  if (status == Status::kSuccess) std::memcpy(value, &number, sizeof(number));
  return Finish(status);
}

cudaError_t SetGraphAttribute(int device, cudaGraphMemAttributeType attribute,
                              void* value) noexcept {
  if (value == nullptr) return Finish(Status::kInvalidValue);
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof(number));
  return Finish(gpu::SetGraphMemoryAttribute(device, static_cast<int>(attribute), number));
}

cudaError_t TrimGraphs(int device) noexcept {
  std::uint64_t held = 0;
  return Finish(gpu::GetGraphMemoryAttribute(device, 0, &held));
}

}  // namespace eidolon::shim::cuda_runtime::pool
