// The formula is not trusted with a time, only with how a time differs between two GPUs: each
// measured time is divided by the formula for its own GPU, and the ratio is multiplied to the
// formula for the other one. Ratios are averaged by logarithms over the GPUs that were measured.
// Within an architecture a single cell's ratio is kept, as libraries mostly choose the same
// kernels; between architectures ratios are smoothed over neighbouring cells, because only their
// trend is common. The formula has waves and does not grow; MeasuredGemms makes the result grow.
#include "services/timing/model/gemm_transfer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "services/base/check.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_tables.h"
#include "services/timing/model/reference_gpus.h"

namespace eidolon::timing::model {
namespace {

// Values are those of fit/fit_gemm_transfer.py, which fits the rest. The rows repeat a GEMM with
// six copies of its weights; an L2 keeps what is used again up to about three quarters of its size.
constexpr std::array<double, 3> kTileSides = {64, 128, 256};
constexpr double kPartsMax = 16;
constexpr double kPartMin = 64;
constexpr double kCopies = 6;
constexpr double kL2Share = 0.75;
constexpr double kPartialBytes = 8;  // A partial sum of four bytes written and read.
constexpr double kOutputBytes = 2;

double Cube(double value) { return value * value * value; }

// Returns the time of the best tiles and parts.
double ComputeSeconds(const TransferConstants& c, const TransferHardware& h, double l2_rate,
                      const std::array<double, 3>& shape) {
  const auto [m, n, k] = shape;
  const double rate = h.rate / h.multiprocessors;
  const double wave = c.wave_clocks / h.clock;
  double best = 0;
  for (const double tile_m : kTileSides) {
    for (const double tile_n : kTileSides) {
      const double tiles = std::ceil(m / tile_m) * std::ceil(n / tile_n);
      const double per_k = 2 * tile_m * tile_n / rate;
      for (double parts = 1; parts <= kPartsMax; parts *= 2) {
        const double depth = std::max(k / parts, kPartMin);
        double seconds = std::ceil(tiles * parts / h.multiprocessors) * (per_k * depth + wave);
        if (parts > 1)
          seconds += c.split_clocks / h.clock + parts * m * n * kPartialBytes / l2_rate;
        if (best == 0 || seconds < best) best = seconds;
        if (tiles >= h.multiprocessors) break;  // Only what does not fill the GPU is split.
      }
    }
  }
  return best;
}

double MemorySecondsOf(const TransferHardware& h, double l2_rate,
                       const std::array<double, 3>& shape) {
  const auto [m, n, k] = shape;
  const double weights = n * k * h.input_bytes;
  const double others = m * k * h.input_bytes + m * n * kOutputBytes;
  const double used = (kCopies * weights + others) / (kL2Share * h.l2_bytes);
  const double missed = used * used / (1 + used * used);
  return (weights + others) * (missed / h.bandwidth + 1 / l2_rate);
}

// Mean of each value and its two neighbours, which count half; the last ones of a line twice.
void SmoothLine(std::vector<float>& values, std::size_t first, std::size_t count,
                std::size_t stride) {
  float before = values[first];
  for (std::size_t i = 0; i < count; ++i) {
    float& value = values[first + i * stride];
    const float after = i + 1 < count ? values[first + (i + 1) * stride] : value;
    const float smooth = (before + 2 * value + after) / 4;
    before = value;
    value = smooth;
  }
}

void Smooth(std::vector<float>& values, const GemmCells& cells) {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t stride = cells.Stride(axis);
      const std::size_t count = cells.sizes[axis].size();
      for (std::size_t first = 0; first < values.size(); ++first) {
        if (first / stride % count == 0) SmoothLine(values, first, count, stride);
      }
    }
  }
}

// Squared, by logarithms.
double Distance(const TransferHardware& a, const TransferHardware& b) {
  double sum = 0;
  for (const auto field : {&TransferHardware::rate, &TransferHardware::bandwidth,
                           &TransferHardware::clock, &TransferHardware::multiprocessors}) {
    const double log = std::log(a.*field / b.*field);
    sum += log * log;
  }
  return sum;
}

struct Weighted {
  TransferReferenceGpu reference_gpu;
  double weight = 0;
};

// Weights add up to one.
std::vector<Weighted> Weigh(const TransferHardware& hardware,
                            const std::vector<TransferReferenceGpu>& reference_gpus) {
  constexpr double kSame = 1e-6;  // Squared distance below which GPUs are one.
  std::map<std::uint32_t, std::vector<Weighted>> by_architecture;
  for (const TransferReferenceGpu& reference_gpu : reference_gpus) {
    const bool own = reference_gpu.hardware.architecture == hardware.architecture;
    const double weight = own ? 1 / (Distance(hardware, reference_gpu.hardware) + kSame) : 1;
    by_architecture[reference_gpu.hardware.architecture].push_back({reference_gpu, weight});
  }
  if (const auto own = by_architecture.find(hardware.architecture); own != by_architecture.end()) {
    by_architecture = {{own->first, std::move(own->second)}};
  }
  std::vector<Weighted> all;
  for (const auto& [architecture, group] : by_architecture) {
    double sum = 0;
    for (const Weighted& one : group) sum += one.weight;
    for (const Weighted& one : group) {
      all.push_back(
          {one.reference_gpu, one.weight / (sum * static_cast<double>(by_architecture.size()))});
    }
  }
  return all;
}

}  // namespace

TransferConstants PublishedTransferConstants(std::string_view gpu) {
  TransferConstants all;
  for (const CsvRow& row : CsvRows(GemmTransferCsv(), 5)) {
    if (row[0] != gpu && row[0] != "-") continue;
    const TransferConstants constants = {.fixed_clocks = CsvNumber(row[1]),
                                         .wave_clocks = CsvNumber(row[2]),
                                         .split_clocks = CsvNumber(row[3]),
                                         .l2_bytes_per_clock = CsvNumber(row[4])};
    if (row[0] == gpu) return constants;
    all = constants;
  }
  CHECK(all.fixed_clocks > 0);
  return all;
}

TransferHardware TransferHardwareOf(const gpu_model::GpuModel& gpu, std::string_view type) {
  TransferHardware hardware = {
      .multiprocessors = static_cast<double>(gpu.multiprocessors),
      .clock = static_cast<double>(gpu.boost_clock_hz),
      .bandwidth = static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share,
      .rate = Rate(gpu, type),
      .l2_bytes = std::max(static_cast<double>(gpu.l2_bytes), 1.0),
      .input_bytes = type == "fp8" ? 1.0 : 2.0,
      .architecture = ArchitectureOf(gpu)};
  const auto peak = gpu.peak_flops.find(std::string(type));
  const auto base = gpu.peak_flops.find("bf16");
  if (peak != gpu.peak_flops.end() && base != gpu.peak_flops.end()) {
    hardware.rate = Rate(gpu, "bf16") * peak->second / base->second;
  }
  return hardware;
}

double TransferSeconds(const TransferConstants& constants, const TransferHardware& hardware,
                       double m, double n, double k) {
  const double l2_rate = constants.l2_bytes_per_clock * hardware.multiprocessors * hardware.clock;
  const double compute = ComputeSeconds(constants, hardware, l2_rate, {m, n, k});
  const double memory = MemorySecondsOf(hardware, l2_rate, {m, n, k});
  return constants.fixed_clocks / hardware.clock + std::cbrt(Cube(compute) + Cube(memory));
}

MeasuredGemms CarriedGemms(const TransferConstants& constants, const TransferHardware& hardware,
                           const GemmRoof& roof,
                           const std::vector<TransferReferenceGpu>& reference_gpus) {
  CHECK(!reference_gpus.empty());
  const std::vector<Weighted> weighed = Weigh(hardware, reference_gpus);
  GemmCells cells = {
      .sizes = weighed.front().reference_gpu.gemms->sizes(), .log_seconds = {}, .errors = {}};
  cells.log_seconds.resize(cells.count());
  cells.errors.resize(cells.count());
  std::vector<float> ratios(cells.count());
  const auto size = [&](std::size_t cell, std::size_t axis) {
    return cells.sizes[axis][cell / cells.Stride(axis) % cells.sizes[axis].size()];
  };
  for (std::size_t i = 0; i < cells.count(); ++i) {
    const double m = size(i, 0), n = size(i, 1), k = size(i, 2);
    double ratio = 0;
    double error = 0;
    for (const auto& [reference_gpu, weight] : weighed) {
      const MeasuredGemms::Answer answer = reference_gpu.gemms->Read(m, n, k);
      const double formula = TransferSeconds(constants, reference_gpu.hardware, m, n, k);
      ratio += weight * std::log(answer.seconds / formula);
      error += weight * answer.relative_error;
    }
    ratios[i] = static_cast<float>(ratio);
    cells.errors[i] = static_cast<float>(error);
    cells.log_seconds[i] =
        static_cast<float>(std::log(TransferSeconds(constants, hardware, m, n, k)));
  }
  if (weighed.front().reference_gpu.hardware.architecture != hardware.architecture)
    Smooth(ratios, cells);
  for (std::size_t i = 0; i < cells.count(); ++i) cells.log_seconds[i] += ratios[i];
  return MeasuredGemms(roof, cells);
}

}  // namespace eidolon::timing::model
