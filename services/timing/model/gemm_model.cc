// A GEMM's time comes from the most specific thing that is known: rows published for this GPU and
// type, rows of other GPUs carried to it, the fitted tables of H100 and B200, waves of tiles, a
// smooth formula. Predict(gpu, shape) chooses.
//
// Rows and tables are short bursts in a CUDA graph; jobs are neither. So the gap between graph
// nodes is taken off, as the device engine adds one, and rows that ran into the power limit are
// brought back to the burst clock, as the engine lowers it under load. Without that both would
// count twice. GemmRateBound bounds the rate that a burst may show.
//
// Time must grow in every size, or a larger model would seem faster. Past a table its edge is
// therefore multiplied by the formula's ratio, and below it by powers that are small enough.
// Predict(gpu, gemm) adds cases that no row covers, each from single kernels: some replace the
// time, others only bound it. Shapes are row-major as the tables are; kernel::Gemm is column-major,
// so m and n change places.
#include "services/timing/model/gemm_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <tuple>

#include "services/base/check.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/model/block_scaled_gemms.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/power_model.h"
#include "services/timing/model/published_gemms.h"
#include "services/timing/model/published_tables.h"
#include "services/timing/model/reference_gpus.h"

namespace eidolon::timing::model {
namespace {

// Errors of the fit, services/timing/README.md: the table's own GPU inside the table.
double TableError(const std::string& type) {
  if (type == "bf16" || type == "fp16") return 0.05;
  if (type == "tf32") return 0.12;
  if (type == "fp8") return 0.15;
  return 0.2;
}

// The type whose table stands in for `type`.
std::string TableType(const std::string& type) {
  if (type == "fp16") return "bf16";
  return type == "fp4" || type == "int8" ? "fp8" : type;
}

// The type whose rows stand in for `type`.
std::string RowsType(const std::string& type) { return type == "fp16" ? "bf16" : type; }

// A GEMM this far beyond a table's last size still counts as interpolated.
constexpr double kReach = 2;

double ShareOfTable(double size) { return std::min(size / GemmSurface::kSizeMin, 1.0); }

// Below the table a GEMM still costs whole tiles, so that little of the time goes away.
double WholeTilesShare(const GemmModel::Shape& shape) {
  constexpr double kExponent = 0.1;
  return std::pow(ShareOfTable(shape.m) * ShareOfTable(shape.n) * ShareOfTable(shape.k), kExponent);
}

// Of the narrower side of the output more goes away, down to 64, the more the GEMM is bound by
// arithmetic (`bound` is that share). The exponents keep the time growing in every size.
double SmallShare(const GemmModel::Shape& shape, double bound) {
  constexpr double kBoundExponent = 0.6;
  constexpr double kTile = 64;
  const double narrow =
      std::max(ShareOfTable(std::min(shape.m, shape.n)), kTile / GemmSurface::kSizeMin);
  return WholeTilesShare(shape) * std::pow(narrow, kBoundExponent * std::min(bound, 1.0));
}

}  // namespace

std::string GemmType(const kernel::Gemm& gemm) {
  constexpr std::uint32_t kFast16F = 74, kFast16Bf = 75, kFastTf32 = 77, kBf16x9 = 78;
  constexpr std::uint32_t k64F = 70, k64FPedantic = 71;
  if (gemm.compute_type == kFastTf32) return "tf32";
  if (gemm.compute_type == kFast16F || gemm.compute_type == kFast16Bf) return "bf16";
  if (gemm.compute_type == kBf16x9) return "tf32";
  if (gemm.compute_type == k64F || gemm.compute_type == k64FPedantic) return "fp64_tensor";
  return std::string(kernel::CudaTypeName(gemm.type_a));
}

GemmModel::GemmModel() : waves_(PublishedWaveConstants()) {
  for (const CsvRow& row : CsvRows(GemmSmoothCsv(), 7)) {
    Reference& reference = references_[{std::string(row[0]), std::string(row[1])}];
    if (!row[0].empty()) table_gpus_[BuiltInGpu(row[0]).compute_major] = row[0];
    reference.fixed = CsvNumber(row[2]) * 1e-12;
    reference.per_k = CsvNumber(row[3]) * 1e-15;
    reference.efficiency = CsvNumber(row[4]) * 1e-6;
    reference.bandwidth = CsvNumber(row[5]) * 1e9;
    reference.rate = CsvNumber(row[6]) * 1e9;
  }
  ReadScales();
  ReadTable();
}

void GemmModel::ReadScales() {
  for (const CsvRow& row : CsvRows(GemmScalesCsv(), 15)) {
    const auto found = references_.find({std::string(row[0]), std::string(row[1])});
    CHECK(found != references_.end());
    Reference& reference = found->second;
    reference.hardware = {.multiprocessors = CsvNumber(row[2]),
                          .bandwidth = reference.bandwidth,
                          .rate = reference.rate,
                          .input_bytes = row[1] == "bf16" ? 2.0 : (row[1] == "fp8" ? 1.0 : 4.0),
                          .output_bytes = row[1] == "tf32" ? 4.0 : 2.0};
    GaussianScales process = {.rough = row[3] == "1"};
    for (std::size_t i = 4; i < 10; ++i) process.length.push_back(CsvNumber(row[i]) * 1e-3);
    process.signal = CsvNumber(row[10]) * 1e-3;
    process.noise = CsvNumber(row[11]) * 1e-3;
    process.loose_noise = CsvNumber(row[12]) * 1e-3;
    reference.scales.processes.push_back(process);
    reference.scales.growth = {CsvNumber(row[13]) * 1e-3, CsvNumber(row[14]) * 1e-9};
  }
}

void GemmModel::ReadTable() {
  for (const CsvRow& row : CsvRows(GemmTableCsv(), 7)) {
    const auto found = references_.find({std::string(row[0]), std::string(row[1])});
    CHECK(found != references_.end());
    GemmSample s = {.batch = CsvNumber(row[2]),
                    .m = CsvNumber(row[3]),
                    .n = CsvNumber(row[4]),
                    .k = CsvNumber(row[5])};
    s.seconds = 2 * s.batch * s.m * s.n * s.k / (CsvNumber(row[6]) * 1e12);
    found->second.samples.push_back(s);
  }
}

const GemmSurface& GemmModel::Reference::Surface() const {
  std::call_once(surface_once, [this] {
    surface = std::make_unique<const GemmSurface>(hardware, samples, scales);
  });
  return *surface;
}

std::vector<GemmTable> GemmModel::Tables() const {
  std::vector<GemmTable> tables;
  for (const auto& [key, reference] : references_) {
    if (reference.samples.empty()) continue;
    tables.push_back({key.first, key.second, reference.hardware, reference.samples});
  }
  return tables;
}

const GemmModel& GemmModel::Get() {
  static const GemmModel model;
  return model;
}

// The same formula as fit/fit_gemm.py.
double GemmModel::Smooth(const Reference& reference, const Shape& s, double bandwidth,
                         double rate) {
  constexpr double kSplitK = 4096;
  const double compute = 2 * s.batch * s.m * s.n * s.k / (rate * reference.efficiency);
  const double bytes =
      s.batch * ((s.m * s.k + s.n * s.k) * s.input_bytes + s.m * s.n * s.output_bytes);
  const double memory = bytes / (bandwidth * kGemmAttained);
  const double larger = std::max(compute, memory);
  const double smaller = std::min(compute, memory) / larger;
  const double square = smaller * smaller;
  return reference.fixed + std::min(s.k, kSplitK) * reference.per_k +
         larger * std::sqrt(std::sqrt(1 + square * square));
}

GemmSample GemmModel::Clamped(const Shape& shape) {
  const auto inside = [](double v) {
    return std::clamp(v, GemmSurface::kSizeMin, GemmSurface::kSizeMax);
  };
  return {.batch = std::clamp(shape.batch, 1.0, GemmSurface::kBatchMax),
          .m = inside(shape.m),
          .n = inside(shape.n),
          .k = inside(shape.k)};
}

GemmModel::Basis GemmModel::FindFrom(const std::string& table_gpu, const gpu_model::GpuModel& gpu,
                                     const std::string& type) const {
  const auto found = references_.find({table_gpu, type});
  if (found != references_.end()) {
    return {&found->second, gpu.name == table_gpu,
            gpu.compute_major == BuiltInGpu(table_gpu).compute_major};
  }
  const auto formula = references_.find({"", "fp32"});
  CHECK(formula != references_.end());
  return {&formula->second, false, false};
}

// Returns the GPU with tables that has the latest compute capability up to that of `gpu`, or the
// earliest one.
const std::string& GemmModel::TableGpuFor(const gpu_model::GpuModel& gpu) const {
  const auto newer = table_gpus_.upper_bound(gpu.compute_major);
  return newer == table_gpus_.begin() ? newer->second : std::prev(newer)->second;
}

GemmModel::Basis GemmModel::Find(const gpu_model::GpuModel& gpu, const std::string& type) const {
  if (references_.contains({gpu.name, type})) return FindFrom(gpu.name, gpu, type);
  return FindFrom(TableGpuFor(gpu), gpu, type);
}

const GemmGrid& GemmModel::CarriedTo(const gpu_model::GpuModel& gpu, const Reference& reference,
                                     const std::string& type) const {
  GemmHardware hardware = reference.hardware;
  hardware.multiprocessors = gpu.multiprocessors;
  hardware.bandwidth = static_cast<double>(gpu.memory_bytes_per_second);
  hardware.rate = Rate(gpu, type);
  const CarriedKey key = {hardware.multiprocessors, hardware.bandwidth, hardware.rate, &reference};
  const std::lock_guard lock(carried_mutex_);
  const auto found = carried_.find(key);
  if (found != carried_.end()) return found->second;
  return carried_
      .emplace(key, CarriedGrid(waves_, hardware, reference.Surface(), reference.hardware))
      .first->second;
}

// What is measured beyond the waves on one architecture says nothing of another, for which the
// library has other kernels (docs/reference/generated/timing_accuracy.md).
double GemmModel::WavesAlone(const gpu_model::GpuModel& gpu, const Shape& s) const {
  const GemmHardware hardware = {.multiprocessors = static_cast<double>(gpu.multiprocessors),
                                 .bandwidth = static_cast<double>(gpu.memory_bytes_per_second),
                                 .rate = Rate(gpu, s.type),
                                 .input_bytes = s.input_bytes,
                                 .output_bytes = s.output_bytes};
  return WaveSeconds(waves_, hardware, {.batch = s.batch, .m = s.m, .n = s.n, .k = s.k}) *
         WholeTilesShare(s);
}

double GemmModel::TableSeconds(const Basis& basis, const gpu_model::GpuModel& gpu,
                               const Shape& shape) const {
  const Reference& reference = *basis.reference;
  const double bandwidth = static_cast<double>(gpu.memory_bytes_per_second);
  const double rate = Rate(gpu, shape.type);
  Shape padded = shape;
  for (double* size : {&padded.m, &padded.n, &padded.k})
    *size = std::max(*size, GemmSurface::kSizeMin);
  const GemmSample at = Clamped(padded);
  Shape clamped = padded;
  std::tie(clamped.batch, clamped.m, clamped.n, clamped.k) = std::tie(at.batch, at.m, at.n, at.k);
  const bool covered = clamped.batch == padded.batch && clamped.m == padded.m &&
                       clamped.n == padded.n && clamped.k == padded.k;
  const double whole = Smooth(reference, padded, bandwidth, rate);
  const double small = SmallShare(shape, 2 * padded.batch * padded.m * padded.n * padded.k /
                                             (rate * reference.efficiency * whole));
  if (!basis.exact) {
    const double edge = Smooth(reference, clamped, bandwidth, rate);
    return CarriedTo(gpu, reference, shape.type).Seconds(at) * whole / edge * small;
  }
  const GemmSurface& surface = reference.Surface();
  const double table = covered ? surface.Seconds(at) : surface.GrowingSeconds(at);
  const double edge = Smooth(reference, clamped, reference.bandwidth, reference.rate);
  return table * whole / edge * small;
}

namespace {

// Each operand moved once.
double TrafficSeconds(const gpu_model::GpuModel& gpu, const GemmModel::Shape& shape) {
  const double bytes = shape.batch * ((shape.m * shape.k + shape.n * shape.k) * shape.input_bytes +
                                      shape.m * shape.n * shape.output_bytes);
  return gpu.kernel_floor.Seconds() + MemorySeconds(gpu, bytes, 1);
}

}  // namespace

// A batch counts as one GEMM with all their rows in whole tiles, except that each member reads a
// matrix of its own: XLA's batches of 2 and 4 take 1.6 and 2.4 % (H100), 2.2 and 2.6 % (B200) more
// or less than such a GEMM in the mean.
Prediction GemmModel::PredictBurst(const MeasuredGemms& gemms, const gpu_model::GpuModel& gpu,
                                   const Shape& s) {
  constexpr double kTile = 64;
  constexpr double kBatchError = 0.1;
  const double rows = s.batch > 1 ? s.batch * std::ceil(s.m / kTile) * kTile : s.m;
  const MeasuredGemms::Answer answer = gemms.Read(rows, s.n, s.k);
  Prediction prediction;
  prediction.seconds = answer.seconds;
  prediction.relative_error = answer.relative_error;
  prediction.source = answer.inside ? estimate::Source::kInterpolated : estimate::Source::kModelled;
  if (answer.measured) prediction.source = estimate::Source::kMeasured;
  if (s.batch > 1) {
    prediction.seconds = std::max(prediction.seconds, TrafficSeconds(gpu, s));
    prediction.source = estimate::Source::kModelled;
    prediction.relative_error += kBatchError;
  }
  return prediction;
}

namespace {

// Rows were measured as nodes of a CUDA graph, one behind the other, so that they include the gap
// between two GEMMs, which the device engine adds again: in a graph the same one, in a stream that
// between launches.
double WithoutGap(const gpu_model::GpuModel& gpu, double seconds) {
  return std::max(seconds - gpu.gemm_graph_gap.Seconds(), seconds / 2);
}

}  // namespace

double GemmModel::SecondsWithoutPause(const gpu_model::GpuModel& gpu, const Shape& shape,
                                      double burst) {
  kernel::WorkCounts counts = {.matrix_flops = 2 * shape.batch * shape.m * shape.n * shape.k};
  counts.bytes = shape.batch * (shape.input_bytes * (shape.m + shape.n) * shape.k +
                                shape.output_bytes * shape.m * shape.n);
  const Duty duty = DutyOf(gpu, shape.type, counts);
  const Draw draw = DrawOf(gpu, duty, OperationTime(burst));
  return burst * SlowdownAtLimit(gpu, draw);
}

namespace {

// Rows were measured with nine calls and more. Those that lasted longer than it takes to bring the
// GPU to its power limit hold a part of it (docs/reference/generated/kernel_times.md, bursts).
double AtBurstClock(const gpu_model::GpuModel& gpu, const GemmModel::Shape& shape, double seconds) {
  constexpr double kCalls = 9;
  constexpr double kUntilLimit = 0.04;
  const double beyond = 1 - kUntilLimit / (kCalls * seconds);
  if (!gpu.power || beyond <= 0) return seconds;
  double burst = seconds;
  for (int round = 0; round < 3; ++round) {  // Its power is that of the burst.
    const double slowdown = GemmModel::SecondsWithoutPause(gpu, shape, burst) / burst;
    burst = seconds / (1 + beyond * (slowdown - 1));
  }
  return burst;
}

}  // namespace

Prediction GemmModel::Predict(const gpu_model::GpuModel& gpu, const Shape& shape) const {
  const std::string type = RowsType(shape.type);
  const PublishedGemms& published = PublishedGemms::Get();
  const MeasuredGemms* own = gpu.clock_scale == 1 ? published.Find(gpu.name, type) : nullptr;
  const MeasuredGemms* gemms = own != nullptr ? own : published.CarriedTo(gpu, type).gemms;
  if (gemms == nullptr) return PredictWith(Find(gpu, TableType(shape.type)), gpu, shape);
  Prediction prediction = PredictBurst(*gemms, gpu, shape);
  prediction.seconds = AtBurstClock(gpu, shape, WithoutGap(gpu, prediction.seconds));
  if (own == nullptr) prediction.source = estimate::Source::kModelled;
  const double bound =
      2 * shape.batch * shape.m * shape.n * shape.k / GemmRateBound(gpu, shape.type);
  if (bound > prediction.seconds) {
    prediction.seconds = bound;
    prediction.source = estimate::Source::kModelled;
  }
  return prediction;
}

Prediction GemmModel::PredictFrom(const std::string& table_gpu, const gpu_model::GpuModel& gpu,
                                  const Shape& shape) const {
  Basis basis = FindFrom(table_gpu, gpu, TableType(shape.type));
  basis.exact = false;
  return PredictWith(basis, gpu, shape);
}

Prediction GemmModel::PredictWith(const Basis& basis, const gpu_model::GpuModel& gpu,
                                  const Shape& shape) const {
  const Reference& reference = *basis.reference;
  const std::string table_type = TableType(shape.type);
  Prediction prediction;
  prediction.relative_error = TableError(table_type);
  if (reference.samples.empty()) {
    // Without a batch Hopper's kernels do better than the formula for all: NeuSight's linear layers
    // on H100, in the median 50 TFLOP/s; H200, 49 to 51 (e2e/measured).
    constexpr double kUnbatchedShare = 1.17;
    const bool single = gpu.compute_major == 9 && shape.batch <= 1;
    prediction.seconds = Smooth(reference, shape, static_cast<double>(gpu.memory_bytes_per_second),
                                Rate(gpu, shape.type) * (single ? kUnbatchedShare : 1));
    return prediction;
  }
  // The tables are short bursts; what runs for seconds does not exceed the steady rate.
  const double bound =
      2 * shape.batch * shape.m * shape.n * shape.k / GemmRateBound(gpu, shape.type);
  const double traffic = TrafficSeconds(gpu, shape);
  const double seconds =
      basis.exact || basis.same_kernels ? TableSeconds(basis, gpu, shape) : WavesAlone(gpu, shape);
  const double burst = std::max(seconds, traffic);
  prediction.seconds = std::max(burst, bound);
  bool inside = table_type == shape.type && shape.batch <= kReach * GemmSurface::kBatchMax;
  for (const double size : {shape.m, shape.n, shape.k}) {
    inside = inside && size >= GemmSurface::kSizeMin && size <= kReach * GemmSurface::kSizeMax;
  }
  prediction.source = basis.exact && inside && burst >= bound ? estimate::Source::kInterpolated
                                                              : estimate::Source::kModelled;
  if (!inside) prediction.relative_error *= 2;
  if (!basis.exact) prediction.relative_error += 0.1;
  return prediction;
}

namespace {

// Of a GEMM with other transposes or an epilogue, by judgement.
constexpr double kOtherLayoutError = 0.05;

// GEMMs with longer sums are not small ones: few blocks wait for their own steps.
constexpr double kShortSum = 64;

// Many small GEMMs, a block of 16 x 16 elements each: 37632 of 8 x 64 x 8 take 108 us on H100
// (published, e2e/validation/operators.csv), 0.72 ns a block and 32 of its sum. The fill of the
// pipeline leaves single GEMMs to the table.
double SmallBlocksSeconds(const gpu_model::GpuModel& gpu, const GemmModel::Shape& shape) {
  constexpr double kBlock = 16;
  constexpr double kSum = 32;
  constexpr double kClocks = 0.72e-9 * 132 * 1.98e9;
  constexpr double kFillSeconds = 2e-6;
  const double blocks = shape.batch * std::ceil(shape.m / kBlock) * std::ceil(shape.n / kBlock) *
                        std::ceil(shape.k / kSum);
  return gpu.kernel_floor.Seconds() + kFillSeconds +
         blocks * kClocks / (gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz));
}

// In TF32 on Hopper, outputs of 64 rows or columns at most: cuBLAS has kernels of older
// architectures for them, tiles of 64 by 64 whose sums go 32 deep at a time, in up to four slices
// while multiprocessors are left. On H200 sums of 16 and 32 such parts last 9.86 and 17.28 us (the
// steps of an LSTM of 1024 on 64 sequences, e2e/measured), behind a memset of 0.8 us that clears
// what slices meet by. 0 for other GEMMs.
double NarrowSeconds(const gpu_model::GpuModel& gpu, const GemmModel::Shape& shape) {
  constexpr double kTile = 64, kDepth = 32, kSlicesMax = 4;
  constexpr double kClocksOfPart = 919, kClocks = 4830;
  constexpr double kClearSeconds = 0.8e-6;
  const bool narrow = shape.batch <= 1 && std::min(shape.m, shape.n) <= kTile;
  if (shape.type != "tf32" || gpu.compute_major != 9 || !narrow) return 0;
  const double sms = gpu.multiprocessors;
  const double tiles = std::ceil(shape.m / kTile) * std::ceil(shape.n / kTile);
  double slices = 1;
  while (slices < kSlicesMax && 2 * slices * tiles <= sms) slices *= 2;
  const double parts = std::ceil(shape.k / (slices * kDepth));
  const double clocks = std::ceil(slices * tiles / sms) * (kClocks + parts * kClocksOfPart);
  return clocks / static_cast<double>(gpu.boost_clock_hz) + (slices > 1 ? kClearSeconds : 0);
}

// 0 where rows begin at multiples of 16 bytes.
double UnalignedFlopsPerClock(const kernel::Gemm& gemm) {
  if (kernel::CudaTypeBytes(gemm.type_a) != 2) return 0;
  const std::uint64_t rows = gemm.lda | gemm.ldb | gemm.ldd;
  constexpr std::uint64_t kAligned = 8, kLong = 256;
  if (rows % kAligned == 0) return 0;
  if (rows % 2 == 0) return kEvenRowsFlopsPerClock;
  return std::min({gemm.m, gemm.n, gemm.k}) >= kLong ? kLongOddRowsFlopsPerClock
                                                     : kOddRowsFlopsPerClock;
}

}  // namespace

Prediction GemmModel::Predict(const gpu_model::GpuModel& gpu, const kernel::Gemm& gemm) const {
  Shape shape;
  // Column major m x n is row major n x m, the tables' order.
  shape.batch = static_cast<double>(std::max<std::uint64_t>(gemm.batch, 1));
  shape.m = static_cast<double>(std::max<std::uint64_t>(gemm.n, 1));
  shape.n = static_cast<double>(std::max<std::uint64_t>(gemm.m, 1));
  shape.k = static_cast<double>(std::max<std::uint64_t>(gemm.k, 1));
  shape.type = GemmType(gemm);
  shape.input_bytes = (kernel::CudaTypeBytes(gemm.type_a) + kernel::CudaTypeBytes(gemm.type_b)) / 2;
  shape.output_bytes = kernel::CudaTypeBytes(gemm.type_d);
  const std::string_view scaled = BlockScaledType(gemm);
  const auto by_block = scaled.empty() || shape.batch > 1
                            ? std::nullopt
                            : PredictBlockScaledGemm(gpu, scaled, shape.m, shape.n, shape.k);
  Prediction prediction = by_block ? *by_block : Predict(gpu, shape);
  // The rows are of y = x w^T, which is this in column-major order, and of nothing else.
  const bool forward =
      gemm.transpose_a && !gemm.transpose_b && gemm.epilogue == workload::Epilogue::kNone;
  if (prediction.source == estimate::Source::kMeasured && !forward) {
    prediction.source = estimate::Source::kInterpolated;
    prediction.relative_error += kOtherLayoutError;
  }
  const double small = std::max(SmallBlocksSeconds(gpu, shape), TrafficSeconds(gpu, shape));
  if (shape.k <= kShortSum && small < prediction.seconds) {
    prediction.seconds = small;
    prediction.source = estimate::Source::kModelled;
    prediction.relative_error = 0.5;
  }
  if (const double narrow = NarrowSeconds(gpu, shape); narrow > 0) {
    prediction.seconds = std::max(narrow, TrafficSeconds(gpu, shape));
    prediction.source = estimate::Source::kModelled;
    prediction.relative_error = 0.3;
  }
  if (const double per_clock = UnalignedFlopsPerClock(gemm); per_clock > 0) {
    const double rate = per_clock * gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz);
    const double seconds = 2 * shape.batch * shape.m * shape.n * shape.k / rate;
    if (seconds > prediction.seconds) {
      prediction.seconds = seconds;
      prediction.source = estimate::Source::kModelled;
      prediction.relative_error = 0.3;
    }
  }
  if (!gemm.beta_zero) {
    prediction.seconds +=
        MemorySeconds(gpu, shape.batch * shape.m * shape.n * kernel::CudaTypeBytes(gemm.type_c), 1);
  }
  return prediction;
}

}  // namespace eidolon::timing::model
