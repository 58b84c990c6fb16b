// The value of a point between measured points that lie on no grid: a plane through the nearest
// ones, weighted by how near they are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace eidolon::timing::model {

// Immutable; safe from any thread.
class NearbyRows {
 public:
  static constexpr std::size_t kDimensionsMax = 7;

  // `points` holds `dimensions` numbers for each of `values`. Requires: 1 to kDimensionsMax
  // dimensions, one point at least.
  NearbyRows(std::size_t dimensions, std::vector<float> points, std::vector<float> values);

  struct Answer {
    double value = 0;
    double scatter = 0;   // Standard deviation of the near values around the plane.
    double distance = 0;  // To the nearest point.
    bool exact = false;   // The value of a point.
  };
  // Requires: as many numbers as there are dimensions.
  Answer At(std::span<const double> point) const;

  std::size_t size() const { return values_.size(); }

 private:
  std::size_t dimensions_;
  std::vector<float> points_;  // All first numbers, then all second ones.
  std::vector<float> values_;
};

}  // namespace eidolon::timing::model
