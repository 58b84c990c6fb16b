// The dimensions of the operands of an element-wise kernel, as its offset calculator has them: how
// far apart neighbouring elements lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/timing/kernel/parameters.h"

namespace eidolon::timing::kernel {

// A dimension of one operand; the stride in bytes.
struct Axis {
  std::uint32_t size;
  std::uint32_t stride;
};
using Axes = std::vector<Axis>;

// Returns the axes of each operand of the calculator at byte `at` of the parameters, the innermost
// dimension first; empty when the layout is another one.
std::vector<Axes> AxesOf(const Parameters& parameters, std::size_t at, std::size_t operands);

}  // namespace eidolon::timing::kernel
