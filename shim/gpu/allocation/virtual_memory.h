// The virtual-memory API: address ranges, physical memory, and mappings of one into the other, as
// PyTorch's expandable segments use them. Physical memory is booked when created and freed when
// neither a handle nor a mapping holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/gpu/memory/arena.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// CUmemGenericAllocationHandle: the address of a physical allocation of ours.
using PhysicalHandle = std::uint64_t;

enum class Access : std::uint32_t { kNone = 0, kRead = 1, kReadWrite = 3 };

// All sizes, offsets and addresses must be multiples of kGranuleBytes.
Status ReserveAddress(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted,
                      std::uint64_t* address) noexcept;
Status FreeAddress(std::uint64_t address, std::uint64_t bytes) noexcept;
// The reservation that holds the address; its device says nothing.
std::optional<Extent> FindReservation(std::uint64_t address) noexcept;

// Properties that can be asked for later; host memory (device -1) is not booked on a device.
struct PhysicalProperties {
  int device = 0;
  std::uint32_t handle_types = 0;
  std::uint32_t location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE.
  int location_id = 0;
};
Status CreatePhysical(const PhysicalProperties& properties, std::uint64_t bytes,
                      PhysicalHandle* handle) noexcept;
Status ReleasePhysical(PhysicalHandle handle) noexcept;
// One more reference to what is mapped at the address.
Status RetainPhysical(std::uint64_t address, PhysicalHandle* handle) noexcept;
Status GetPhysicalProperties(PhysicalHandle handle, PhysicalProperties* properties) noexcept;

Status Map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset,
           PhysicalHandle handle) noexcept;
Status Unmap(std::uint64_t address, std::uint64_t bytes) noexcept;
Status SetAccess(std::uint64_t address, std::uint64_t bytes, int device, Access access) noexcept;
Status GetAccess(std::uint64_t address, int device, Access* access) noexcept;

// A descriptor that another process (or this one) turns into a handle; the memory stays booked here
// only.
Status ExportPhysical(PhysicalHandle handle, int* descriptor) noexcept;
Status ImportPhysical(int descriptor, PhysicalHandle* handle) noexcept;

}  // namespace eidolon::shim::gpu
