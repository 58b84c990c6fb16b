// A Gaussian process alone would need many rows to learn that time grows with work. So it learns
// only the ratio to a formula of tiles and waves, by logarithms; where it knows nothing the formula
// times the mean ratio is left. The mean of two processes is taken, a rough one that follows steps
// and a smooth one that follows trends. Rows that mostly wait (start of the kernel, latency along
// k) may get more noise (looseness), if that foretells left-out rows better. The result is read off
// once on a grid of octaves, because growth can be enforced on a grid and not on a process. Scales
// are fitted by `eidolon profile fit` and shipped.
#include "services/timing/model/gemm_surface.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "services/base/check.h"
#include "services/base/random.h"

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

// Sizes on logarithmic axes. Batch, m and n also enter as their product, the number of tiles: what
// GEMMs of one such number have in common is that they fill the GPU alike; and the narrower side
// of the output, which decides how well tiles fit.
GaussianPoint PointOf(const GemmSample& s) {
  return {std::log2(s.batch),
          std::log2(s.m),
          std::log2(s.n),
          std::log2(s.k),
          std::log2(s.batch * s.m * s.n),
          std::log2(std::min(s.m, s.n))};
}

// Start of the kernel and latency along k.
double IdleSeconds(const GemmSample& s) { return kFixedSeconds + s.k * kStepSeconds; }

// Those of one shape averaged, by logarithms.
std::vector<GemmSample> Averaged(const std::vector<GemmSample>& samples) {
  std::map<std::tuple<double, double, double, double>, std::pair<double, int>> shapes;
  for (const GemmSample& s : samples) {
    CHECK(s.seconds > 0);
    auto& [sum, count] = shapes[{s.batch, s.m, s.n, s.k}];
    sum += std::log(s.seconds);
    ++count;
  }
  std::vector<GemmSample> result;
  for (const auto& [shape, mean] : shapes) {
    const auto& [batch, m, n, k] = shape;
    result.push_back({batch, m, n, k, std::exp(mean.first / mean.second)});
  }
  return result;
}

GaussianData DataOf(const GemmHardware& hardware, const std::vector<GemmSample>& averaged) {
  GaussianData data;
  for (const GemmSample& s : averaged) {
    const double formula = TileSeconds(hardware, s);
    data.points.push_back(PointOf(s));
    data.values.push_back(std::log(s.seconds / formula));
    data.looseness.push_back(std::pow(IdleSeconds(s) / formula, 4));
  }
  return data;
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
  const double memory = bytes / (h.bandwidth * kGemmAttained);
  const double rounded = std::sqrt(std::sqrt(std::pow(best, 4) + std::pow(memory, 4)));
  return IdleSeconds(s) + rounded;
}

GemmSurface::GemmSurface(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                         const GemmScales& scales)
    : growth_(scales.growth) {
  const GaussianData data = DataOf(hardware, Averaged(samples));
  for (const GaussianScales& one : scales.processes) {
    const auto process = GaussianProcess::Fit(data, one);
    CHECK(process.has_value());
    for (std::size_t cell = 0; cell < GemmGrid::kCells; ++cell) {
      surface_[cell] += process->Predict(PointOf(GemmGrid::ShapeOf(cell))) /
                        static_cast<double>(scales.processes.size());
    }
  }
  for (std::size_t cell = 0; cell < GemmGrid::kCells; ++cell) {
    surface_[cell] += std::log(TileSeconds(hardware, GemmGrid::ShapeOf(cell)));
  }
  growing_ = surface_.Growing();
  if (growth_.dip == 0) {
    surface_ = growing_;
    return;
  }
  surface_ = surface_.Dipping(growing_, growth_);
  growing_.KeepAbove(surface_, growth_.dip);
  growth_.grows_from = surface_.DifferentUpTo(growing_);
}

namespace {

// Mean relative error of the surface on each fifth of the samples, fitted to the rest; `dips`: as
// far as the rest does.
double FifthsError(const GemmHardware& hardware, const std::vector<GemmSample>& averaged,
                   const std::vector<GaussianScales>& processes, bool dips) {
  constexpr std::uint64_t kParts = 5;
  base::Random random(20261122);
  std::vector<std::uint64_t> part;
  for (std::size_t i = 0; i < averaged.size(); ++i) part.push_back(random.Below(kParts));
  double sum = 0;
  for (std::uint64_t left_out = 0; left_out < kParts; ++left_out) {
    std::vector<GemmSample> rest;
    for (std::size_t i = 0; i < averaged.size(); ++i) {
      if (part[i] != left_out) rest.push_back(averaged[i]);
    }
    const Growth growth = dips ? MeasureGrowth(rest) : Growth{};
    const GemmSurface surface(hardware, rest, {processes, growth});
    for (std::size_t i = 0; i < averaged.size(); ++i) {
      if (part[i] != left_out) continue;
      sum += std::abs(surface.Seconds(averaged[i]) / averaged[i].seconds - 1);
    }
  }
  return sum / static_cast<double>(averaged.size());
}

double LeftOutError(const GaussianData& data, const GaussianScales& scales) {
  auto process = GaussianProcess::Fit(data, scales);
  CHECK(process.has_value());
  process->Differentiate();
  double sum = 0;
  for (const double error : process->left_out()) sum += std::abs(std::expm1(error));
  return sum / static_cast<double>(data.values.size());
}

}  // namespace

namespace {

GaussianScales FitProcess(const GaussianData& data, bool rough, int steps) {
  // Lengths in octaves. The tables reach over few octaves: k and the number of tiles bend the time
  // within about two, the others hardly. A rough process bends four times as much within a length.
  GaussianPrior prior = {
      .middle = {.rough = rough, .length = {10, 10, 10, 2.5, 1.8, 5}, .signal = 0.3, .noise = 0.02},
      .width = {.length = {1, 1, 1, 0.5, 0.5, 1}, .signal = 1, .noise = 0.5, .loose_noise = 1}};
  for (double& length : prior.middle.length) length *= rough ? 4 : 1;
  const GaussianScales even = FitScales(data, prior, steps);
  prior.middle.loose_noise = 0.02;
  const GaussianScales loose = FitScales(data, prior, steps);
  return LeftOutError(data, loose) < LeftOutError(data, even) ? loose : even;
}

}  // namespace

GemmScales FitGemmScales(const GemmHardware& hardware, const std::vector<GemmSample>& samples,
                         int steps) {
  // A dip is allowed where it takes at least this share off the error.
  constexpr double kWorth = 0.1;
  const std::vector<GemmSample> averaged = Averaged(samples);
  const GaussianData data = DataOf(hardware, averaged);
  GemmScales scales;
  for (const bool rough : {false, true}) scales.processes.push_back(FitProcess(data, rough, steps));
  if (FifthsError(hardware, averaged, scales.processes, true) <
      (1 - kWorth) * FifthsError(hardware, averaged, scales.processes, false)) {
    scales.growth = MeasureGrowth(averaged);
  }
  return scales;
}

}  // namespace eidolon::timing::model
