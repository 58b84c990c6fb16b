// Random delays of the host that a job asks for (hostModel.jitter), as the agent gives them to a
// process: in the segment, between cursors and devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/ring/layout.h"

namespace eidolon::ring {

// All zero: none.
struct HostJitter {
  double per_second;        // Delays in a second of host work; 0: none.
  std::uint64_t length_ps;  // Mean length of a delay.
  std::uint32_t
      exponential;  // 1: lengths are drawn from an exponential distribution; 0: all alike.
  std::uint32_t reserved;
  std::uint64_t seed;  // Of this process.
};

inline constexpr std::size_t kHostJitterOffset = kCursorsOffset + 2048;
static_assert(kCursorsOffset + sizeof(Cursors) <= kHostJitterOffset);
static_assert(kHostJitterOffset + sizeof(HostJitter) <= kDevicesOffset);

inline HostJitter* HostJitterOf(void* segment) {
  return reinterpret_cast<HostJitter*>(static_cast<char*>(segment) + kHostJitterOffset);
}

}  // namespace eidolon::ring
