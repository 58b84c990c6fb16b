// Pictures sampled at the points of a grid by a library, computed: small ones, of known values,
// when somebody looks. In double precision, rounded once to the result's type.
#pragma once

#include <array>
#include <cstdint>

#include "shim/value/compute/number.h"

namespace eidolon::shim::compute {

// Dimensions are batch, channels, height, width; strides in elements.
struct Picture {
  std::uint64_t address = 0;
  std::array<std::int64_t, 4> dims{};
  std::array<std::int64_t, 4> strides{};
};

// output(b, c, h, w) lies between the four pixels of input(b, c) around the point grid(b, h, w),
// which is an x and a y, where -1 and 1 are the centres of the picture's outermost pixels. Outside
// there are zeros.
struct Sampling {
  Element type = Element::kNone;  // Of all three.
  Picture input, output;
  std::uint64_t grid = 0;  // Without gaps.
};

// Can be computed with: real numbers, few enough. Requires: dimensions are positive.
bool IsSmall(const Sampling& sampling) noexcept;

// Puts the sampling into the order of value operations: the output gets its values when all that it
// reads is known and the grid has no NaN, and else becomes unknown. Requires: small; one batch and
// as many channels on both sides.
void Record(const Sampling& sampling);

}  // namespace eidolon::shim::compute
