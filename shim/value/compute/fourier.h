// Fourier transforms of libraries, computed: small ones, of known values, when somebody looks. By
// the definition, in double precision, rounded once to the result's type.
#pragma once

#include <array>
#include <cstdint>

#include "shim/value/compute/number.h"

namespace eidolon::shim::compute {

// Where the points lie, in elements: of transform b the point (x, y, z) at
// b * distance + ((x * embed[1] + y) * embed[2] + z) * stride.
struct FourierSide {
  std::uint64_t address = 0;
  Element type = Element::kNone;
  std::array<std::int64_t, 3> embed{1, 1, 1};
  std::int64_t stride = 1;
  std::int64_t distance = 0;
};

// A batch of transforms in up to three dimensions, not scaled. A real side has a complex partner
// with half of the last dimension, and one more.
struct Fourier {
  std::array<std::int64_t, 3> lengths{1, 1, 1};  // The fastest dimension last.
  std::int64_t batch = 1;
  bool inverse = false;                     // The exponent's sign is positive.
  bool from_real = false, to_real = false;  // Not both.
  FourierSide input, output;

  // Points along the last dimension on each side.
  std::int64_t InputWidth() const;
  std::int64_t OutputWidth() const;
};

// Elements from the output's first to its last, gaps included.
std::uint64_t WrittenElements(const Fourier& fourier) noexcept;

// Can be computed with: both types are known, and it is small enough.
bool IsSmall(const Fourier& fourier) noexcept;

// Puts the transform into the order of value operations: the output gets its values when all that
// it reads is known, and else becomes unknown. Requires: small.
void Record(const Fourier& fourier);

}  // namespace eidolon::shim::compute
