// This names the lanes of a step in a launch that tracks unknown values.
#pragma once

#include <cstdint>

namespace eidolon::interpret {

// The certain lanes run the step. Whether the others do depends on an unknown guard.
struct Lineup {
  std::uint32_t certain = 0;
  std::uint32_t perhaps = 0;
  std::uint32_t all() const { return certain | perhaps; }
};

// Puts into the lanes of a row whether they are unknown. In those that perhaps take part the row
// is unknown in any case: the old value or the new one.
inline void PutUnknown(std::uint32_t& row, const Lineup& lanes, std::uint32_t unknown) {
  row = (row & ~lanes.certain) | (unknown & lanes.certain) | lanes.perhaps;
}

}  // namespace eidolon::interpret
