// Determines what blocks of a grid touch together. Pure functions.
#pragma once

#include <array>

#include "services/timing/count/accesses.h"

namespace eidolon::timing::count {

// Returns whether the blocks between two at the ends of a side touch the same sectors, or parts of
// what one of them touches: the one's range lies within the other's, begins or ends with it, and is
// as densely touched.
bool TouchTheSame(const RegionTouched& one, const RegionTouched& other);

// Returns how many of so many blocks in a row of a grid lie at different places of the sides that
// do not share.
double DifferentBlocks(double blocks, const std::array<double, 3>& sides,
                       const std::array<bool, 3>& shared);

}  // namespace eidolon::timing::count
