// Emulated device memory: address ranges that are reserved and never backed by RAM (PROT_NONE).
// This header has only what hot paths ask; allocation is in memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace eidolon::shim::gpu {

// Bounds of all reservations, published once made; an empty range before.
struct ArenaBounds {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
ArenaBounds DeviceAddressBounds() noexcept;

// True when the address lies in emulated device memory (allocated or not): for blanking pointers.
inline bool IsDeviceAddress(std::uint64_t address) noexcept {
  const ArenaBounds bounds = DeviceAddressBounds();
  return address >= bounds.begin && address < bounds.end;
}

// The device whose reservation holds the address, or -1.
int DeviceOfAddress(std::uint64_t address) noexcept;

// A live allocation or mapping that holds the address.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  int device = 0;
};
std::optional<Extent> FindExtent(std::uint64_t address) noexcept;

}  // namespace eidolon::shim::gpu
