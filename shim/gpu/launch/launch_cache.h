// The works of recent launches by the hash of kernel, shape and parameters, so that a repeated
// launch neither builds nor compares its definition. One small direct-mapped table per thread,
// without locks, before one for the process. Two different launches with one 64-bit hash are taken
// to be equal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::gpu {

struct KnownLaunch {
  std::uint32_t work = 0;                 // 0: none.
  const std::byte* parameters = nullptr;  // Of its definition: pointers are blanked.
};

// Returns what was kept for the hash.
KnownLaunch FindLaunch(std::uint64_t hash) noexcept;

void KeepLaunch(std::uint64_t hash, const KnownLaunch& launch) noexcept;

}  // namespace eidolon::shim::gpu
