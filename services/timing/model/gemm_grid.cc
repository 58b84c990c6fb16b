// The surfaces that grow along every axis form a convex set, and the nearest one is found by
// projecting onto each axis in turn with Dykstra's corrections, without which alternating
// projections end at some growing surface, not the nearest. Along one line the projection pools
// adjacent violators into their mean. To have time grow by a slope instead of staying level, the
// slope is taken off before and added again afterwards. Accumulate makes exact what the rounds
// leave over, because callers rely on growth. Cells are logarithms of seconds, so distances are
// relative errors.
#include "services/timing/model/gemm_grid.h"

#include <algorithm>
#include <cmath>

namespace eidolon::timing::model {
namespace {

// Twice a size costs this share more at least, so that what stands in past the grid grows too.
constexpr double kSlope = 0.03;

double SlopeOf(std::size_t cell) {
  std::size_t octaves = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) octaves += GemmGrid::Steps(cell, axis);
  return kSlope * static_cast<double>(octaves);
}

// Makes `count` values at `stride` grow by giving each run of violators its mean.
void PoolLine(double* line, std::size_t count, std::size_t stride) {
  struct Run {
    double sum;
    std::size_t size;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) {
    Run run = {line[i * stride], 1};
    while (!runs.empty() && runs.back().sum * static_cast<double>(run.size) >
                                run.sum * static_cast<double>(runs.back().size)) {
      run.sum += runs.back().sum;
      run.size += runs.back().size;
      runs.pop_back();
    }
    runs.push_back(run);
  }
  std::size_t i = 0;
  for (const Run& run : runs) {
    for (std::size_t j = 0; j < run.size; ++j, ++i) {
      line[i * stride] = run.sum / static_cast<double>(run.size);
    }
  }
}

// Each cell becomes the largest of those that are smaller in no size.
void Accumulate(std::vector<double>& cells) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    for (std::size_t at = 0; at < cells.size(); ++at) {
      if (GemmGrid::Steps(at, axis) == 0) continue;
      cells[at] = std::max(cells[at], cells[at - GemmGrid::kStrides[axis]]);
    }
  }
}

// Place on an axis of steps: the cell below and the share of the one above.
struct Place {
  std::size_t below = 0;
  double share = 0;
};

Place Locate(double steps, std::size_t cells) {
  const double last = static_cast<double>(cells - 1);
  const double at = std::clamp(steps, 0.0, last);
  const double below = std::min(std::floor(at), last - 1);
  return {static_cast<std::size_t>(below), at - below};
}

bool LargerInNone(const GemmSample& a, const GemmSample& b) {
  return a.batch <= b.batch && a.m <= b.m && a.n <= b.n && a.k <= b.k;
}

}  // namespace

// The second deepest dip counts, so that a single odd measurement does not loosen the whole
// surface.
Growth MeasureGrowth(const std::vector<GemmSample>& samples) {
  constexpr double kDipNoise = 0.03;
  double deepest = 0;
  Growth growth;
  for (const GemmSample& smaller : samples) {
    double dip = 0;
    for (const GemmSample& larger : samples) {
      if (LargerInNone(smaller, larger)) dip = std::max(dip, 1 - larger.seconds / smaller.seconds);
    }
    growth.dip = std::max(growth.dip, std::min(dip, deepest));
    deepest = std::max(deepest, dip);
    if (dip > kDipNoise) growth.grows_from = std::max(growth.grows_from, smaller.seconds);
  }
  if (growth.dip <= kDipNoise) return {};
  return growth;
}

GemmSample GemmGrid::ShapeOf(std::size_t cell) {
  const auto size = [cell](std::size_t axis) {
    return kSizeMin * std::exp2(static_cast<double>(Steps(cell, axis)));
  };
  return {.batch = std::exp2(Steps(cell, 0)), .m = size(1), .n = size(2), .k = size(3)};
}

double GemmGrid::Seconds(const GemmSample& shape) const {
  const auto place = [](double size) { return Locate(std::log2(size / kSizeMin), kSizes); };
  const std::array<Place, 4> places = {Locate(std::log2(shape.batch), kBatches), place(shape.m),
                                       place(shape.n), place(shape.k)};
  double sum = 0;
  for (unsigned corner = 0; corner < 16; ++corner) {
    double weight = 1;
    std::size_t cell = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const bool above = ((corner >> axis) & 1u) != 0;
      weight *= above ? places[axis].share : 1 - places[axis].share;
      cell += (places[axis].below + (above ? 1 : 0)) * kStrides[axis];
    }
    if (weight > 0) sum += weight * cells_[cell];
  }
  return std::exp(sum);
}

// Dykstra's alternating projections (Boyle and Dykstra 1986), each of which pools the violators of
// a line.
GemmGrid GemmGrid::Growing() const {
  constexpr int kRounds = 200;
  std::vector<double> cells = cells_;
  for (std::size_t at = 0; at < kCells; ++at) cells[at] -= SlopeOf(at);
  std::array<std::vector<double>, 4> corrections;
  for (auto& correction : corrections) correction.assign(kCells, 0);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 4; axis-- > 0;) {
      std::vector<double>& correction = corrections[axis];
      for (std::size_t at = 0; at < kCells; ++at) {
        cells[at] += correction[at];
        correction[at] = cells[at];
      }
      for (std::size_t at = 0; at < kCells; ++at) {
        if (Steps(at, axis) == 0) PoolLine(&cells[at], kCounts[axis], kStrides[axis]);
      }
      for (std::size_t at = 0; at < kCells; ++at) correction[at] -= cells[at];
    }
  }
  Accumulate(cells);  // What two hundred rounds leave over.
  GemmGrid grown;
  for (std::size_t at = 0; at < kCells; ++at) grown[at] = cells[at] + SlopeOf(at);
  return grown;
}

GemmGrid GemmGrid::Dipping(const GemmGrid& growing, const Growth& growth) const {
  const double most = std::log(growth.grows_from);
  GemmGrid result = growing;
  for (std::size_t at = 0; at < kCells; ++at) {
    if (growing[at] < most) result[at] = std::min(cells_[at], most);
  }
  const GemmGrid dipping = result;
  result.KeepAbove(dipping, growth.dip);
  return result;
}

void GemmGrid::KeepAbove(const GemmGrid& other, double dip) {
  std::vector<double> longest = other.cells_;
  for (std::size_t at = 0; at < kCells; ++at) longest[at] -= SlopeOf(at);
  Accumulate(longest);
  for (std::size_t at = 0; at < kCells; ++at) {
    cells_[at] = std::max(cells_[at], longest[at] + SlopeOf(at) + std::log1p(-dip));
  }
}

double GemmGrid::DifferentUpTo(const GemmGrid& growing) const {
  constexpr double kSame = 1e-9;
  double up_to = 0;
  for (std::size_t base = 0; base < kCells; ++base) {
    bool inner = true;
    for (std::size_t axis = 0; axis < 4; ++axis) inner &= Steps(base, axis) + 1 < kCounts[axis];
    if (!inner) continue;
    bool different = false;
    double longest = 0;
    for (unsigned corner = 0; corner < 16; ++corner) {
      std::size_t cell = base;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        if (((corner >> axis) & 1u) != 0) cell += kStrides[axis];
      }
      different = different || std::abs(cells_[cell] - growing[cell]) > kSame;
      longest = std::max(longest, std::exp(cells_[cell]));
    }
    if (different) up_to = std::max(up_to, longest);
  }
  return up_to;
}

}  // namespace eidolon::timing::model
