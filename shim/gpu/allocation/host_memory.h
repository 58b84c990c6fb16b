// Host memory that the GPU knows: pinned allocations, registered ranges, managed memory. It is real
// memory; here is only the ledger that tells a pinned pointer from a pageable one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// Addresses of programs end here on x86-64, with four levels of pages.
inline constexpr std::uintptr_t kUserSpaceEnd = std::uintptr_t{1} << 47;

enum class HostKind { kAllocated, kRegistered, kManaged };

struct HostRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  HostKind kind = HostKind::kAllocated;
  std::uint32_t flags = 0;  // As given by the program.
  int device = 0;           // Current when it was made.
};

// Page-locked memory, untouched: RAM is used page by page as the program writes. Size 0 gives null.
Status AllocateHost(std::size_t bytes, std::uint32_t flags, void** result) noexcept;
Status FreeHost(void* pointer) noexcept;

Status RegisterHost(void* pointer, std::size_t bytes, std::uint32_t flags) noexcept;
Status UnregisterHost(void* pointer) noexcept;

// Managed memory lives on the host; its bytes are always real.
Status AllocateManaged(std::size_t bytes, std::uint32_t flags, void** result) noexcept;
Status FreeManaged(void* pointer) noexcept;

// True when the bytes lie wholly in one range, in registered ranges that follow each other without
// a gap, or outside of all of them. Requires: they do not wrap around, and are more than 0.
bool HoldsHostBytes(const void* pointer, std::size_t bytes) noexcept;

// The range that holds the address. Costs two loads when there is none near it.
std::optional<HostRange> FindHostRange(const void* pointer) noexcept;

}  // namespace eidolon::shim::gpu
