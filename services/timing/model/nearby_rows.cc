// This is local regression: a plane by weighted least squares through the 24 nearest points, whose
// value at the asked point is the answer. Slopes are held back a little (a ridge), so that few
// points in one direction do not extrapolate. Two more rounds weigh outliers down; the scatter is
// taken before that, so that it includes them. All points are looked at for each question:
// coordinates lie by dimension, so the loop over them can run on vectors, and answers are cached by
// the service. Ties are broken by the order of points, so that every machine gives the same answer.
#include "services/timing/model/nearby_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "services/base/check.h"

namespace eidolon::timing::model {
namespace {

constexpr std::size_t kNear = 24;  // Points that the plane goes through.
constexpr double kSame = 1e-6;     // Squared distance of points that are one.
constexpr double kNearest = 0.15;  // Squared distance within which nearness counts no more.
constexpr double kFlat = 0.3;      // Pulls slopes that few points tell towards nothing.
constexpr int kRounds = 3;         // From the second on with outliers weighing less.
constexpr double kOutlier = 2;     // In standard deviations.
constexpr double kNormal = 1.48;   // Standard deviation over median deviation.
constexpr double kScatterLeast = 0.01;

constexpr std::size_t kColumns = NearbyRows::kDimensionsMax + 1;

// A near point: its offset from the asked one after a 1, its value and weight.
struct Near {
  std::array<double, kColumns> row = {};
  double value = 0;
  double weight = 0;
};

using Coefficients = std::array<double, kColumns>;

// Weighted least squares, slopes held back. Gauss elimination without pivoting: the matrix is
// positive definite.
Coefficients Plane(std::span<const Near> near, std::size_t columns) {
  std::array<std::array<double, kColumns + 1>, kColumns> a = {};
  double weights = 0;
  for (const Near& n : near) {
    weights += n.weight;
    for (std::size_t i = 0; i < columns; ++i) {
      const double scaled = n.weight * n.row[i];
      for (std::size_t j = i; j < columns; ++j) a[i][j] += scaled * n.row[j];
      a[i][columns] += scaled * n.value;
    }
  }
  const double held = kFlat * weights / static_cast<double>(near.size());
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j < i; ++j) a[i][j] = a[j][i];
    if (i > 0) a[i][i] += held;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = i + 1; j < columns; ++j) {
      const double share = a[j][i] / a[i][i];
      for (std::size_t c = i; c <= columns; ++c) a[j][c] -= share * a[i][c];
    }
  }
  Coefficients result = {};
  for (std::size_t i = columns; i-- > 0;) {
    double sum = a[i][columns];
    for (std::size_t c = i + 1; c < columns; ++c) sum -= a[i][c] * result[c];
    result[i] = sum / a[i][i];
  }
  return result;
}

double Residual(const Near& n, const Coefficients& plane, std::size_t columns) {
  double value = n.value;
  for (std::size_t i = 0; i < columns; ++i) value -= plane[i] * n.row[i];
  return value;
}

double MedianOf(std::span<const double> values) {
  std::array<double, kNear> sorted;
  const auto end = std::copy(values.begin(), values.end(), sorted.begin());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

}  // namespace

NearbyRows::NearbyRows(std::size_t dimensions, std::vector<float> points, std::vector<float> values)
    : dimensions_(dimensions), values_(std::move(values)) {
  CHECK(dimensions >= 1 && dimensions <= kDimensionsMax);
  CHECK(!values_.empty() && points.size() == dimensions * values_.size());
  points_.resize(points.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      points_[d * values_.size() + i] = points[i * dimensions + d];
    }
  }
}

NearbyRows::Answer NearbyRows::At(std::span<const double> point) const {
  CHECK(point.size() == dimensions_);
  const std::size_t count = values_.size();
  static thread_local std::vector<float> squares;
  static thread_local std::vector<std::uint32_t> order;
  squares.assign(count, 0);
  order.resize(count);
  for (std::size_t d = 0; d < dimensions_; ++d) {
    const float at = static_cast<float>(point[d]);
    const float* all = points_.data() + d * count;
    for (std::size_t i = 0; i < count; ++i) squares[i] += (all[i] - at) * (all[i] - at);
  }
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  const std::size_t near_count = std::min(kNear, count);
  // Equal distances in the order of the points, so that the answer is the same everywhere.
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(near_count),
                    order.end(), [&](std::uint32_t a, std::uint32_t b) {
                      return squares[a] != squares[b] ? squares[a] < squares[b] : a < b;
                    });
  Answer answer;
  answer.distance = std::sqrt(static_cast<double>(squares[order[0]]));
  if (static_cast<double>(squares[order[0]]) < kSame) {
    answer.value = static_cast<double>(values_[order[0]]);
    answer.exact = true;
    return answer;
  }
  const std::size_t columns = dimensions_ + 1;
  const double farthest = 1.05 * static_cast<double>(squares[order[near_count - 1]]);
  std::array<Near, kNear> near;
  for (std::size_t i = 0; i < near_count; ++i) {
    Near& n = near[i];
    const std::uint32_t index = order[i];
    n.row[0] = 1;
    for (std::size_t d = 0; d < dimensions_; ++d) {
      n.row[d + 1] = static_cast<double>(points_[d * count + index]) - point[d];
    }
    n.value = static_cast<double>(values_[index]);
    const double square = static_cast<double>(squares[index]);
    const double inner = std::max(1 - square / farthest, 1e-3);
    n.weight = inner * inner / (square + kNearest);
  }
  const std::span<Near> used = std::span(near).first(near_count);
  for (int round = 0; round < kRounds; ++round) {
    const Coefficients plane = Plane(used, columns);
    answer.value = plane[0];
    std::array<double, kNear> away;
    double squared = 0;
    double weights = 0;
    for (std::size_t i = 0; i < near_count; ++i) {
      away[i] = std::abs(Residual(near[i], plane, columns));
      squared += near[i].weight * away[i] * away[i];
      weights += near[i].weight;
    }
    if (round == 0) answer.scatter = std::max(std::sqrt(squared / weights), kScatterLeast);
    const double usual =
        std::max(kNormal * MedianOf(std::span(away).first(near_count)), kScatterLeast);
    for (std::size_t i = 0; i < near_count; ++i) {
      const double share = away[i] / (kOutlier * usual);
      near[i].weight /= 1 + share * share;
    }
  }
  return answer;
}

}  // namespace eidolon::timing::model
