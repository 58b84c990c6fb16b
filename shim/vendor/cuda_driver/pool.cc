// Attributes of a pool travel through an untyped pointer: the first three are ints, the others
// 64-bit numbers, and a wrong width would overwrite the program's memory. Access of other devices
// is granted from the start, so setting it only checks the devices. Pools of the host and of
// managed memory are refused.
#include "shim/vendor/cuda_driver/pool.h"

#include <cstdint>
#include <cstring>

#include "shim/gpu/allocation/pool.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::pool {
namespace {

using gpu::Status;

// Attributes 1 to 3 are ints, the others 64-bit numbers.
bool IsFlag(CUmemPool_attribute attribute) { return static_cast<int>(attribute) <= 3; }

Status CheckLocation(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return Status::kInvalidValue;
  const bool on_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
  return on_device && type == CU_MEM_ALLOCATION_TYPE_PINNED ? Status::kSuccess
                                                            : Status::kNotSupported;
}

CUresult Answer(Status status, gpu::PoolHandle handle, CUmemoryPool* pool) {
  if (status == Status::kSuccess) *pool = static_cast<CUmemoryPool>(handle);
  return ToResult(status);
}

}  // namespace

CUresult AllocateAsync(CUdeviceptr* pointer, size_t size, CUstream stream) noexcept {
  if (pointer == nullptr) return ToResult(Status::kInvalidValue);
  std::uint64_t address = 0;
  Status status = RequireContext();
  if (status == Status::kSuccess) status = gpu::AllocateAsync(size, stream, &address);
  if (status == Status::kSuccess) *pointer = address;
  return ToResult(status);
}

CUresult AllocateFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool pool,
                               CUstream stream) noexcept {
  if (pointer == nullptr) return ToResult(Status::kInvalidValue);
  std::uint64_t address = 0;
  const Status status = gpu::AllocateFromPool(pool, size, stream, &address);
  if (status == Status::kSuccess) *pointer = address;
  return ToResult(status);
}

CUresult FreeAsync(CUdeviceptr pointer, CUstream stream) noexcept {
  return ToResult(gpu::FreeAsync(pointer, stream));
}

CUresult Create(CUmemoryPool* pool, const CUmemPoolProps* properties) noexcept {
  if (pool == nullptr || properties == nullptr) return ToResult(Status::kInvalidValue);
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return ToResult(Status::kNotSupported);
  gpu::PoolHandle handle = nullptr;
  Status status = CheckDevice(properties->location.id);
  if (status == Status::kSuccess) status = gpu::CreatePool(properties->location.id, &handle);
  return Answer(status, handle, pool);
}

CUresult Destroy(CUmemoryPool pool) noexcept { return ToResult(gpu::DestroyPool(pool)); }

CUresult TrimTo(CUmemoryPool pool, size_t keep) noexcept {
  return ToResult(gpu::TrimPool(pool, keep));
}

CUresult GetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  std::uint64_t number = 0;
  const Status status =
      gpu::GetPoolAttribute(pool, static_cast<gpu::PoolAttribute>(attribute), &number);
  if (status != Status::kSuccess) return ToResult(status);
  const auto flag = static_cast<int>(number);
  IsFlag(attribute) ? std::memcpy(value, &flag, sizeof(flag))
                    : std::memcpy(value, &number, sizeof(number));
  return CUDA_SUCCESS;
}

CUresult SetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  std::uint64_t number = 0;
  std::memcpy(&number, value, IsFlag(attribute) ? sizeof(int) : sizeof(number));
  return ToResult(gpu::SetPoolAttribute(pool, static_cast<gpu::PoolAttribute>(attribute), number));
}

CUresult GetAccess(CUmemAccess_flags* flags, CUmemoryPool, CUmemLocation* location) noexcept {
  if (flags == nullptr || location == nullptr) return ToResult(Status::kInvalidValue);
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult SetAccess(CUmemoryPool, const CUmemAccessDesc* access, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (access == nullptr) return ToResult(Status::kInvalidValue);
    const Status status = CheckDevice(access[i].location.id);
    if (status != Status::kSuccess) return ToResult(status);
  }
  return CUDA_SUCCESS;
}

CUresult GetDefault(CUmemoryPool* pool, CUdevice device) noexcept {
  gpu::PoolHandle handle = nullptr;
  Status status = pool == nullptr ? Status::kInvalidValue : CheckDevice(device);
  if (status == Status::kSuccess) status = gpu::DefaultPool(device, &handle);
  return Answer(status, handle, pool);
}

CUresult GetCurrent(CUmemoryPool* pool, CUdevice device) noexcept {
  gpu::PoolHandle handle = nullptr;
  Status status = pool == nullptr ? Status::kInvalidValue : CheckDevice(device);
  if (status == Status::kSuccess) status = gpu::CurrentPool(device, &handle);
  return Answer(status, handle, pool);
}

CUresult SetCurrent(CUdevice device, CUmemoryPool pool) noexcept {
  const Status status = CheckDevice(device);
  return ToResult(status != Status::kSuccess ? status : gpu::SetCurrentPool(device, pool));
}

CUresult GetDefaultAt(CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? GetDefault(pool, location->id) : ToResult(status);
}

CUresult GetCurrentAt(CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? GetCurrent(pool, location->id) : ToResult(status);
}

CUresult SetCurrentAt(CUmemLocation* location, CUmemAllocationType type,
                      CUmemoryPool pool) noexcept {
  const Status status = CheckLocation(location, type);
  return status == Status::kSuccess ? SetCurrent(location->id, pool) : ToResult(status);
}

CUresult GetGraphAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) noexcept {
  std::uint64_t number = 0;
  const Status status =
      value == nullptr ? Status::kInvalidValue
                       : gpu::GetGraphMemoryAttribute(device, static_cast<int>(attribute), &number);
  if (status == Status::kSuccess) std::memcpy(value, &number, sizeof(number));
  return ToResult(status);
}

CUresult SetGraphAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) noexcept {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof(number));
  return ToResult(gpu::SetGraphMemoryAttribute(device, static_cast<int>(attribute), number));
}

CUresult TrimGraphs(CUdevice device) noexcept { return ToResult(CheckDevice(device)); }

}  // namespace eidolon::shim::cuda_driver::pool
