#include "services/timing/model/gemm_surface.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "services/base/check.h"

namespace eidolon::timing::model {
namespace {

struct Tile {
  double m;
  double n;
  double efficiency;  // Of the sustained rate, by the data that a tile uses again.
};
constexpr Tile kTiles[] = {{128, 256, 1.0},  {256, 128, 1.0}, {256, 256, 1.0},
                           {128, 128, 0.85}, {64, 256, 0.8},  {256, 64, 0.8},
                           {128, 64, 0.62},  {64, 128, 0.62}, {64, 64, 0.4}};

// Start and drain of a tile's pipeline, and the kernel's own cost and latency along k: seconds.
constexpr double kTileSeconds = 0.5e-6;
constexpr double kFixedSeconds = 4e-6;
constexpr double kStepSeconds = 0.4e-9;
constexpr double kAttained = 0.9;

double Log2(double value) { return std::log2(value); }

// Sizes on logarithmic axes. Batch, m and n also enter as their product, the number of tiles: what
// products of one such number have in common is that they fill the GPU alike.
GaussianProcess::Point PointOf(const GemmSample& s) {
  return {Log2(s.batch), Log2(s.m), Log2(s.n), Log2(s.k), Log2(s.batch * s.m * s.n)};
}

struct Samples {
  std::vector<GaussianProcess::Point> points;
  std::vector<double> values;
};

Samples Prepare(const GemmHardware& hardware, const std::vector<GemmSample>& samples) {
  std::map<std::tuple<double, double, double, double>, std::pair<double, int>> shapes;
  for (const GemmSample& s : samples) {
    CHECK(s.seconds > 0);
    auto& [sum, count] = shapes[{s.batch, s.m, s.n, s.k}];
    sum += std::log(s.seconds);
    ++count;
  }
  Samples result;
  for (const auto& [shape, mean] : shapes) {
    const auto& [batch, m, n, k] = shape;
    const GemmSample sample = {.batch = batch, .m = m, .n = n, .k = k};
    result.points.push_back(PointOf(sample));
    result.values.push_back(mean.first / mean.second - std::log(TileSeconds(hardware, sample)));
  }
  return result;
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

}  // namespace

double TileSeconds(const GemmHardware& h, const GemmSample& s) {
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = s.batch * std::ceil(s.m / tile.m) * std::ceil(s.n / tile.n);
    const double waves = std::ceil(tiles / h.multiprocessors);
    const double rate = h.rate / h.multiprocessors * tile.efficiency;
    const double seconds = waves * (2 * tile.m * tile.n * s.k / rate + kTileSeconds);
    if (best == 0 || seconds < best) best = seconds;
  }
  const double bytes = s.batch * ((s.m + s.n) * s.k * h.input_bytes + s.m * s.n * h.output_bytes);
  const double memory = bytes / (h.bandwidth * kAttained);
  const double rounded = std::sqrt(std::sqrt(std::pow(best, 4) + std::pow(memory, 4)));
  return kFixedSeconds + s.k * kStepSeconds + rounded;
}

GemmSurface::GemmSurface(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                         const GaussianScales& scales) {
  Samples prepared = Prepare(hardware, samples);
  const auto process = GaussianProcess::Fit(std::move(prepared.points), prepared.values, scales);
  CHECK(process.has_value());
  log_seconds_.resize(kBatches * kSizes * kSizes * kSizes);
  const auto size = [](std::size_t i) { return kSizeMin * std::exp2(static_cast<double>(i)); };
  for (std::size_t b = 0; b < kBatches; ++b) {
    for (std::size_t m = 0; m < kSizes; ++m) {
      for (std::size_t n = 0; n < kSizes; ++n) {
        for (std::size_t k = 0; k < kSizes; ++k) {
          const GemmSample s = {.batch = std::exp2(b), .m = size(m), .n = size(n), .k = size(k)};
          log_seconds_[Cell(b, m, n, k)] =
              process->Predict(PointOf(s)) + std::log(TileSeconds(hardware, s));
        }
      }
    }
  }
  MakeMonotone();
}

// The nearest values, by squares of logarithms, that grow along every axis: Dykstra's alternating
// projections (Boyle and Dykstra 1986), each of which pools the violators of a line.
void GemmSurface::MakeMonotone() {
  constexpr int kRounds = 200;
  // Twice a size costs this share more at least, so that what stands in past the grid grows too.
  constexpr double kSlope = 0.03;
  const std::array<std::size_t, 4> strides = {1, kSizes, kSizes * kSizes, kSizes * kSizes * kSizes};
  const std::array<std::size_t, 4> counts = {kSizes, kSizes, kSizes, kBatches};
  const std::size_t cells = log_seconds_.size();
  const auto slope = [&](std::size_t at) {
    std::size_t octaves = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) octaves += at / strides[axis] % counts[axis];
    return kSlope * static_cast<double>(octaves);
  };
  for (std::size_t at = 0; at < cells; ++at) log_seconds_[at] -= slope(at);
  std::array<std::vector<double>, 4> corrections;
  for (auto& correction : corrections) correction.assign(cells, 0);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 0; axis < 4; ++axis) {
      std::vector<double>& correction = corrections[axis];
      for (std::size_t at = 0; at < cells; ++at) {
        log_seconds_[at] += correction[at];
        correction[at] = log_seconds_[at];
      }
      for (std::size_t at = 0; at < cells; ++at) {
        if (at / strides[axis] % counts[axis] != 0) continue;
        PoolLine(&log_seconds_[at], counts[axis], strides[axis]);
      }
      for (std::size_t at = 0; at < cells; ++at) correction[at] -= log_seconds_[at];
    }
  }
  // What two hundred rounds leave over.
  for (std::size_t axis = 0; axis < 4; ++axis) {
    for (std::size_t at = 0; at < cells; ++at) {
      if (at / strides[axis] % counts[axis] == 0) continue;
      log_seconds_[at] = std::max(log_seconds_[at], log_seconds_[at - strides[axis]]);
    }
  }
  for (std::size_t at = 0; at < cells; ++at) log_seconds_[at] += slope(at);
}

double GemmSurface::Seconds(const GemmSample& shape) const {
  const auto place = [](double size) { return Locate(Log2(size / kSizeMin), kSizes); };
  const std::array<Place, 4> places = {Locate(Log2(shape.batch), kBatches), place(shape.m),
                                       place(shape.n), place(shape.k)};
  double sum = 0;
  for (unsigned corner = 0; corner < 16; ++corner) {
    double weight = 1;
    std::array<std::size_t, 4> index{};
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const bool above = ((corner >> axis) & 1u) != 0;
      weight *= above ? places[axis].share : 1 - places[axis].share;
      index[axis] = places[axis].below + (above ? 1 : 0);
    }
    if (weight > 0) sum += weight * log_seconds_[Cell(index[0], index[1], index[2], index[3])];
  }
  return std::exp(sum);
}

GaussianScales FitGemmScales(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                             int steps) {
  const Samples prepared = Prepare(hardware, samples);
  // Where the search starts: lengths in octaves.
  const GaussianScales start = {.length = {10, 10, 10, 2.5, 1.8}, .signal = 0.3, .noise = 0.02};
  return FitScales(prepared.points, prepared.values, start, steps);
}

}  // namespace eidolon::timing::model
