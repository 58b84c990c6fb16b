// Form of device addresses in work that is sent to others: blanked, so that equal work has equal
// bytes wherever its memory lies. The shim blanks; agents, timing models and replays find the
// places again.
#pragma once

#include <cstdint>

namespace eidolon::workload {

// Marks a blanked address; the low byte keeps the address's low byte, which tells its alignment.
inline constexpr std::uint64_t kPointerTag = 0xe1d0000000000000u;

constexpr bool IsBlankedPointer(std::uint64_t word) {
  return (word & ~std::uint64_t{0xff}) == kPointerTag;
}

}  // namespace eidolon::workload
