// Emulated device memory: address ranges that are reserved and never backed by RAM (PROT_NONE).
// This header has only what hot paths ask; allocation is in memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace eidolon::shim::gpu {

// All emulated device memory of a process lies here, whatever the device; see memory.h.
inline constexpr std::uint64_t kArenaBegin = 0x200000000000;
inline constexpr std::uint64_t kArenaEnd = 0x300000000000;

struct ArenaBounds {
  std::uint64_t begin = kArenaBegin;
  std::uint64_t end = kArenaEnd;
};
constexpr ArenaBounds DeviceAddressBounds() noexcept { return {}; }

// True when the address lies in emulated device memory (allocated or not): for blanking pointers.
inline bool IsDeviceAddress(std::uint64_t address) noexcept {
  return address - kArenaBegin < kArenaEnd - kArenaBegin;
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
