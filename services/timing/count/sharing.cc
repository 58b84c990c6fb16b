// Only the corners of a grid are known, so sharing along a side is concluded from what two of them
// touch. Equal ranges are not needed: under a mask, one block touches a part that begins or ends
// with the other's, at the same density. Ranges that merely overlap do not count as shared, as
// those of a stencil's neighbours do not.
#include "services/timing/count/sharing.h"

#include <algorithm>
#include <cmath>

namespace eidolon::timing::count {

bool TouchTheSame(const RegionTouched& one, const RegionTouched& other) {
  constexpr double kAsDense = 0.9;
  const auto range = [](const RegionTouched& touched) {
    return static_cast<double>(touched.most - touched.least) + 1;
  };
  if (one.sectors <= 0 || other.sectors <= 0) return false;
  const bool is_within = (one.least <= other.least && one.most >= other.most) ||
                         (other.least <= one.least && other.most >= one.most);
  if (!is_within || (one.least != other.least && one.most != other.most)) return false;
  const double a = one.sectors / range(one), b = other.sectors / range(other);
  return std::min(a, b) >= kAsDense * std::max(a, b);
}

double DifferentBlocks(double blocks, const std::array<double, 3>& sides,
                       const std::array<bool, 3>& shared) {
  // Counts from the innermost side on: of all blocks of the sides so far, and of those that begin
  // another row of them.
  double all = 1, begun = 0, period = 1;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const double rows = std::floor(blocks / period);
    const bool is_last = side + 1 == sides.size();
    const double whole = is_last ? rows : std::fmod(rows, sides[side]);
    begun = !shared[side] ? whole * all + begun : whole > 0 ? all : begun;
    if (!shared[side]) all *= sides[side];
    period *= sides[side];
  }
  return std::min(blocks, begun);
}

}  // namespace eidolon::timing::count
