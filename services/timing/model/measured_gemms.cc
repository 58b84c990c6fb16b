// Cells hold logarithms of seconds. Between sizes the ratio to the roof is what changes slowly, so
// missing cells and sizes that are put into wide gaps are interpolated as ratios. Published times
// do not always grow with size, and predictions must. Growth is made along one axis after the other
// by pooling violators into their median: unlike a mean it is not moved by a single slow kernel.
// What two rounds leave over is raised to the longest smaller cell, which ends all violations. How
// far a cell was moved becomes part of its error, and one that was moved by more than three
// hundredths no longer counts as measured.
#include "services/timing/model/measured_gemms.h"

#include <algorithm>
#include <cmath>

#include "services/base/check.h"
#include "services/timing/model/gemm_gaps.h"
#include "services/timing/model/gemm_surface.h"

namespace eidolon::timing::model {
namespace {

constexpr double kFloorClocks = 2000;

// The most that growth may move a row which still counts as measured.
constexpr double kMoved = 0.03;
// Of rows of a single stack, and the least of others: repeated measurements differ by that.
constexpr double kRepeatError = 0.02;
// Added between cells: what leaving out whole planes of the published grids costs.
constexpr double kBetweenError = 0.04;
constexpr double kBeyondError = 0.1;

// Sizes from here on that are further apart than this get another one between them.
constexpr double kWideFrom = 16;
constexpr double kWide = 1.9;

std::vector<double> Logs(const std::vector<double>& sizes) {
  std::vector<double> logs;
  for (const double size : sizes) logs.push_back(std::log2(size));
  return logs;
}

GemmRoof RoofOf(const GemmRows& rows) {
  return {.bandwidth = rows.bandwidth,
          .rate = rows.rate,
          .clock = rows.clock,
          .input_bytes = rows.type == "fp8" ? 1.0 : 2.0,
          .output_bytes = 2};
}

float MedianOf(std::vector<float>& values) {
  const std::size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  return (*std::max_element(values.begin(), at) + *at) / 2;
}

// Makes a line grow by giving each run of violators its median: the nearest growing values by
// absolute distance, of which a single slow kernel moves no others.
template <typename At>
void PoolLine(std::size_t count, const At& at) {
  struct Run {
    float median;
    std::size_t size;
  };
  static thread_local std::vector<Run> runs;
  static thread_local std::vector<float> values;
  runs.clear();
  for (std::size_t i = 0; i < count; ++i) {
    Run run = {at(i), 1};
    while (!runs.empty() && runs.back().median > run.median) {
      run.size += runs.back().size;
      runs.pop_back();
      values.clear();
      for (std::size_t j = i + 1 - run.size; j <= i; ++j) values.push_back(at(j));
      run.median = MedianOf(values);
    }
    runs.push_back(run);
  }
  if (runs.size() == count) return;
  std::size_t i = 0;
  for (const Run& run : runs) {
    for (std::size_t j = 0; j < run.size; ++j) at(i++) = run.median;
  }
}

}  // namespace

double RoofSeconds(const GemmRoof& roof, double m, double n, double k) {
  const double compute = 2 * m * n * k / roof.rate;
  const double bytes = (m + n) * k * roof.input_bytes + m * n * roof.output_bytes;
  const double memory = bytes / (roof.bandwidth * kGemmAttained);
  const double larger = std::max(compute, memory);
  const double share = std::min(compute, memory) / larger;
  const double square = share * share;
  return kFloorClocks / roof.clock + larger * std::sqrt(std::sqrt(1 + square * square));
}

MeasuredGemms::MeasuredGemms(const GemmRows& rows) : roof_(RoofOf(rows)), sizes_(rows.axes) {
  CHECK(rows.measured() > 0);
  for (std::size_t axis = 0; axis < 3; ++axis) logs_[axis] = Logs(sizes_[axis]);
  cells_.resize(rows.cells());
  std::vector<double> roofs(cells_.size());
  std::vector<double> ratios(cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    roofs[i] = LogRoof(roof_, i);
    cells_[i].measured = rows.microseconds[i] > 0;
    const double seconds = static_cast<double>(rows.microseconds[i]) * 1e-6;
    if (cells_[i].measured) ratios[i] = std::log(seconds) - roofs[i];
  }
  const std::vector<Gap> gaps = FillGaps(rows, ratios);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    double ratio = ratios[i];
    cell.error = std::max(rows.spread[i], static_cast<float>(kRepeatError));
    if (!cell.measured) {
      ratio = gaps[i].value;
      cell.error = static_cast<float>(gaps[i].reached ? std::hypot(gaps[i].error, kRepeatError)
                                                      : kBeyondError);
    }
    cell.log_seconds = static_cast<float>(roofs[i] + ratio);
  }
  AddSizes();
  Grow();
}

MeasuredGemms::MeasuredGemms(const MeasuredGemms& reference_gpu, const GemmRoof& roof)
    : roof_(roof),
      sizes_(reference_gpu.sizes_),
      logs_(reference_gpu.logs_),
      cells_(reference_gpu.cells_) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    cell.log_seconds += static_cast<float>(LogRoof(roof_, i) - LogRoof(reference_gpu.roof_, i));
    cell.measured = false;
    cell.error += static_cast<float>(kBeyondError);
  }
  Grow();
}

MeasuredGemms::MeasuredGemms(const GemmRoof& roof, const GemmCells& carried)
    : roof_(roof), sizes_(carried.sizes) {
  CHECK(carried.log_seconds.size() == carried.count());
  CHECK(carried.errors.size() == carried.count());
  for (std::size_t axis = 0; axis < 3; ++axis) logs_[axis] = Logs(sizes_[axis]);
  cells_.resize(carried.count());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    cells_[i].log_seconds = carried.log_seconds[i];
    cells_[i].error = carried.errors[i] + static_cast<float>(kBeyondError);
  }
  Grow();
}

std::size_t GemmCells::Stride(std::size_t axis) const {
  if (axis == 0) return 1;
  return axis == 2 ? sizes[0].size() : sizes[0].size() * sizes[2].size();
}

std::size_t MeasuredGemms::Stride(std::size_t axis) const {
  if (axis == 0) return 1;
  return axis == 2 ? sizes_[0].size() : sizes_[0].size() * sizes_[2].size();
}

double MeasuredGemms::Size(std::size_t cell, std::size_t axis) const {
  return sizes_[axis][cell / Stride(axis) % sizes_[axis].size()];
}

double MeasuredGemms::LogRoof(const GemmRoof& roof, std::size_t cell) const {
  return std::log(RoofSeconds(roof, Size(cell, 0), Size(cell, 1), Size(cell, 2)));
}

void MeasuredGemms::AddSizes() {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t at = 0; at + 1 < sizes_[axis].size(); ++at) {
      const double size = sizes_[axis][at];
      if (size >= kWideFrom && sizes_[axis][at + 1] >= kWide * size) AddSize(axis, at);
    }
  }
}

// Copies the cells to a grid with one more plane. The new plane's ratios to the roof are
// interpolated; its times follow.
void MeasuredGemms::AddSize(std::size_t axis, std::size_t after) {
  const std::size_t at = after;
  const double low = sizes_[axis][at];
  const double high = sizes_[axis][at + 1];
  const std::size_t stride = Stride(axis);
  const std::size_t count = sizes_[axis].size();
  const double middle = std::round(std::sqrt(low * high));
  const std::vector<Cell> old = cells_;
  sizes_[axis].insert(sizes_[axis].begin() + static_cast<std::ptrdiff_t>(at) + 1, middle);
  logs_[axis] = Logs(sizes_[axis]);
  const double share =
      (logs_[axis][at + 1] - logs_[axis][at]) / (logs_[axis][at + 2] - logs_[axis][at]);
  cells_.assign(old.size() / count * (count + 1), {});
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t step = i / stride % (count + 1);
    const std::size_t outer = i / (stride * (count + 1));
    const std::size_t below =
        outer * stride * count + (step <= at ? step : step - 1) * stride + i % stride;
    if (step != at + 1) {
      cells_[i] = old[below];
      continue;
    }
    const std::size_t above = below + stride;
    const auto roof = [&](double size) {
      std::array<double, 3> s = {Size(i, 0), Size(i, 1), Size(i, 2)};
      s[axis] = size;
      return std::log(RoofSeconds(roof_, s[0], s[1], s[2]));
    };
    const double low_ratio = old[below].log_seconds - roof(low);
    const double high_ratio = old[above].log_seconds - roof(high);
    cells_[i].log_seconds =
        static_cast<float>(roof(middle) + low_ratio + share * (high_ratio - low_ratio));
    cells_[i].error =
        std::max(old[below].error, old[above].error) + static_cast<float>(kBetweenError);
  }
}

// Lines pooled in turn; what that leaves over is raised to the longest smaller GEMM.
void MeasuredGemms::Grow() {
  constexpr int kRounds = 2;
  const std::vector<Cell> before = cells_;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 3; axis-- > 0;) {
      const std::size_t stride = Stride(axis);
      const std::size_t count = sizes_[axis].size();
      for (std::size_t first = 0; first < cells_.size(); ++first) {
        if (first / stride % count != 0) continue;
        PoolLine(count,
                 [&](std::size_t i) -> float& { return cells_[first + i * stride].log_seconds; });
      }
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t stride = Stride(axis);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (i / stride % sizes_[axis].size() == 0) continue;
      cells_[i].log_seconds = std::max(cells_[i].log_seconds, cells_[i - stride].log_seconds);
    }
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const float moved = std::abs(cells_[i].log_seconds - before[i].log_seconds);
    cells_[i].error = std::hypot(cells_[i].error, moved);
    if (moved > static_cast<float>(kMoved)) cells_[i].measured = false;
  }
}

MeasuredGemms::Place MeasuredGemms::Locate(std::size_t axis, double size) const {
  const std::vector<double>& sizes = sizes_[axis];
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), size);
  if (above == sizes.begin()) return {};
  const auto below = static_cast<std::size_t>(above - sizes.begin()) - 1;
  if (above == sizes.end() || sizes[below] == size) return {below, 0};
  const std::vector<double>& logs = logs_[axis];
  return {below, (std::log2(size) - logs[below]) / (logs[below + 1] - logs[below])};
}

// Corners of weight zero are left out, so that a size of the grid reads its own cell alone.
MeasuredGemms::Answer MeasuredGemms::Read(double m, double n, double k) const {
  const std::array<double, 3> asked = {m, n, k};
  std::array<double, 3> within = asked;
  std::array<Place, 3> places;
  Answer answer = {.inside = true, .measured = true};
  bool beyond = false;
  bool exact = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::vector<double>& sizes = sizes_[axis];
    within[axis] = std::clamp(asked[axis], sizes.front(), sizes.back());
    places[axis] = Locate(axis, within[axis]);
    answer.inside = answer.inside && within[axis] == asked[axis];
    beyond = beyond || asked[axis] > within[axis];
    exact = exact && places[axis].share == 0;
  }
  double log = 0;
  double error = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool above = ((corner >> axis) & 1u) != 0;
      weight *= above ? places[axis].share : 1 - places[axis].share;
      at += (places[axis].below + (above ? 1 : 0)) * Stride(axis);
    }
    if (weight == 0) continue;
    const Cell& cell = cells_[at];
    log += weight * cell.log_seconds;
    error += weight * cell.error;
    answer.measured = answer.measured && exact && answer.inside && cell.measured;
  }
  answer.seconds = std::exp(log);
  if (beyond) {
    answer.seconds *=
        RoofSeconds(roof_, std::max(m, within[0]), std::max(n, within[1]), std::max(k, within[2])) /
        RoofSeconds(roof_, within[0], within[1], within[2]);
  }
  answer.relative_error = error + (exact ? 0 : kBetweenError) + (answer.inside ? 0 : kBeyondError);
  return answer;
}

}  // namespace eidolon::timing::model
