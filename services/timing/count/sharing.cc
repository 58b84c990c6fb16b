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
  double different = 1, period = 1;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (!shared[side]) different *= std::min(sides[side], std::ceil(blocks / period));
    period *= sides[side];
  }
  return std::min(blocks, different);
}

}  // namespace eidolon::timing::count
