// Handles of physical memory, addresses and mappings are kept in gpu/allocation; this face
// translates the vendor's structures, and keeps what of them the program may read back (location
// type and id, handle types). Only file descriptors are shared between processes; fabric handles
// and other types are refused.
#include "shim/vendor/cuda_driver/virtual_memory.h"

#include <cstdint>

#include "shim/gpu/allocation/virtual_memory.h"
#include "shim/gpu/memory/memory.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::virtual_memory {
namespace {

using gpu::Status;

// Host memory can be asked for by several location types; it is nobody's device memory.
Status Translate(const CUmemAllocationProp* from, gpu::PhysicalProperties* to) {
  if (from == nullptr || from->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return Status::kInvalidValue;
  }
  constexpr unsigned kSupported = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if ((static_cast<unsigned>(from->requestedHandleTypes) & ~kSupported) != 0) {
    return Status::kNotSupported;
  }
  const bool on_device = from->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (on_device) {
    if (const Status status = CheckDevice(from->location.id); status != Status::kSuccess) {
      return status;
    }
  }
  to->device = on_device ? from->location.id : -1;
  to->handle_types = static_cast<std::uint32_t>(from->requestedHandleTypes);
  to->location_type = static_cast<std::uint32_t>(from->location.type);
  to->location_id = from->location.id;
  return Status::kSuccess;
}

}  // namespace

CUresult ReserveAddress(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr wanted,
                        unsigned long long flags) noexcept {
  if (pointer == nullptr || flags != 0) return ToResult(Status::kInvalidValue);
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  std::uint64_t address = 0;
  const Status status = gpu::ReserveAddress(size, alignment, wanted, &address);
  if (status == Status::kSuccess) *pointer = address;
  return ToResult(status);
}

CUresult FreeAddress(CUdeviceptr pointer, size_t size) noexcept {
  return ToResult(gpu::FreeAddress(pointer, size));
}

CUresult Create(CUmemGenericAllocationHandle* handle, size_t size,
                const CUmemAllocationProp* properties, unsigned long long flags) noexcept {
  if (handle == nullptr || flags != 0) return ToResult(Status::kInvalidValue);
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  gpu::PhysicalProperties wanted;
  Status status = Translate(properties, &wanted);
  gpu::PhysicalHandle made = 0;
  if (status == Status::kSuccess) status = gpu::CreatePhysical(wanted, size, &made);
  if (status == Status::kSuccess) *handle = made;
  return ToResult(status);
}

CUresult Release(CUmemGenericAllocationHandle handle) noexcept {
  return ToResult(gpu::ReleasePhysical(handle));
}

CUresult Retain(CUmemGenericAllocationHandle* handle, void* address) noexcept {
  if (handle == nullptr) return ToResult(Status::kInvalidValue);
  gpu::PhysicalHandle found = 0;
  const Status status = gpu::RetainPhysical(reinterpret_cast<std::uint64_t>(address), &found);
  if (status == Status::kSuccess) *handle = found;
  return ToResult(status);
}

CUresult Map(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags) noexcept {
  if (flags != 0) return ToResult(Status::kInvalidValue);
  return ToResult(gpu::Map(pointer, size, offset, handle));
}

CUresult Unmap(CUdeviceptr pointer, size_t size) noexcept {
  return ToResult(gpu::Unmap(pointer, size));
}

CUresult SetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access,
                   size_t count) noexcept {
  if (access == nullptr || count == 0) return ToResult(Status::kInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    const bool on_device = access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const Status status = gpu::SetAccess(pointer, size, on_device ? access[i].location.id : -1,
                                         static_cast<gpu::Access>(access[i].flags));
    if (status != Status::kSuccess) return ToResult(status);
  }
  return CUDA_SUCCESS;
}

CUresult GetAccess(unsigned long long* flags, const CUmemLocation* location,
                   CUdeviceptr pointer) noexcept {
  if (flags == nullptr || location == nullptr) return ToResult(Status::kInvalidValue);
  gpu::Access access = gpu::Access::kNone;
  const bool on_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
  const Status status = gpu::GetAccess(pointer, on_device ? location->id : -1, &access);
  if (status == Status::kSuccess) *flags = static_cast<unsigned long long>(access);
  return ToResult(status);
}

CUresult GetGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                        CUmemAllocationGranularity_flags) noexcept {
  if (granularity == nullptr || properties == nullptr) return ToResult(Status::kInvalidValue);
  *granularity = gpu::kGranuleBytes;
  return CUDA_SUCCESS;
}

CUresult GetProperties(CUmemAllocationProp* properties,
                       CUmemGenericAllocationHandle handle) noexcept {
  if (properties == nullptr) return ToResult(Status::kInvalidValue);
  gpu::PhysicalProperties found;
  const Status status = gpu::GetPhysicalProperties(handle, &found);
  if (status != Status::kSuccess) return ToResult(status);
  *properties = {};
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(found.handle_types);
  properties->location.type = static_cast<CUmemLocationType>(found.location_type);
  properties->location.id = found.location_id;
  return CUDA_SUCCESS;
}

CUresult Export(void* shareable, CUmemGenericAllocationHandle handle,
                CUmemAllocationHandleType type, unsigned long long flags) noexcept {
  if (shareable == nullptr || flags != 0) return ToResult(Status::kInvalidValue);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return ToResult(Status::kNotSupported);
  return ToResult(gpu::ExportPhysical(handle, static_cast<int*>(shareable)));
}

CUresult Import(CUmemGenericAllocationHandle* handle, void* shareable,
                CUmemAllocationHandleType type) noexcept {
  if (handle == nullptr) return ToResult(Status::kInvalidValue);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return ToResult(Status::kNotSupported);
  gpu::PhysicalHandle made = 0;
  const auto descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
  const Status status = gpu::ImportPhysical(descriptor, &made);
  if (status == Status::kSuccess) *handle = made;
  return ToResult(status);
}

}  // namespace eidolon::shim::cuda_driver::virtual_memory
