// Computes how many blocks of a kernel one multiprocessor holds at a time: the published rules of
// compute capabilities 7.5 to 12.x.
#pragma once

#include <cstdint>

#include "services/contract/ring/layout.h"

namespace eidolon::shim::gpu {

struct BlockResources {
  std::uint32_t threads = 0;
  std::uint32_t registers = 0;     // Per thread.
  std::uint64_t shared_bytes = 0;  // Static and dynamic, without what the system reserves.
  std::uint32_t barriers = 0;
};

// 0 when a block does not fit at all. Requires: resources.threads > 0.
std::uint32_t BlocksPerMultiprocessor(const ring::DeviceProperties& device,
                                      const BlockResources& resources) noexcept;

// The most threads a block of a kernel with this many registers may have, before its own bounds.
std::uint32_t ThreadsPerBlockMax(const ring::DeviceProperties& device,
                                 std::uint32_t registers) noexcept;

}  // namespace eidolon::shim::gpu
