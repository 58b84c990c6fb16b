// The best answer is a measurement of the very item, then a line between two measured items of its
// class, then the model. What was measured is not bounded by anything. A model may be wrong, so it
// is held above the time that memory at its peak needs for the operands beyond L2. Interpolation is
// between logarithms, never past the ends, and only between neighbours within a factor of two.
// Counts of work are added to each answer whatever its source is, and errors are one standard
// deviation, relative.
#include "services/timing/model/estimator.h"

#include <algorithm>
#include <cmath>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/kernel/work_key.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/copy_model.h"
#include "services/timing/model/counts.h"
#include "services/timing/model/dnn_model.h"
#include "services/timing/model/dnn_tensors.h"
#include "services/timing/model/duty.h"
#include "services/timing/model/fixed_durations.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::Demand;
using kernel::Evidence;
using kernel::Family;

constexpr double kAssumedError = 1.0;

Estimate Make(const Prediction& prediction, std::string_view family, double memory_bytes = 0) {
  return {OperationTime(prediction.seconds),
          prediction.source,
          prediction.relative_error,
          family,
          {},
          memory_bytes};
}

// What L2 holds may stay there.
double MemoryShare(const gpu_model::GpuModel& gpu, const Estimate& estimate) {
  const double moved = estimate.memory_bytes - static_cast<double>(gpu.l2_bytes);
  const double most = estimate.duration.Seconds() * gpu.attained_memory_share *
                      static_cast<double>(gpu.memory_bytes_per_second);
  return moved > 0 && most > 0 ? std::min(1.0, moved / most) : 0;
}

// No kernel is faster than memory at its peak bandwidth for the bytes of its operands beyond L2.
Prediction AtLeast(const gpu_model::GpuModel& gpu, Prediction prediction, double bytes) {
  const double moved = std::max(0.0, bytes - static_cast<double>(gpu.l2_bytes));
  const double least = moved / static_cast<double>(gpu.memory_bytes_per_second);
  if (prediction.seconds < least) {
    prediction.seconds = least;
    if (prediction.source != estimate::Source::kAssumed) {
      prediction.source = estimate::Source::kModelled;
    }
  }
  return prediction;
}

// Spread of the family's model, by judgement until measured profiles exist: how regular its memory
// accesses are, and whether sizes were read or derived.
double KernelError(const Demand& demand) {
  double error = 0.25;
  switch (demand.family) {
    case Family::kElementwise:
    case Family::kCopy:
    case Family::kCast:
    case Family::kFill:
    case Family::kForeach:
    case Family::kOptimizer:
      error = 0.15;
      break;
    case Family::kReduction:
    case Family::kSoftmax:
    case Family::kNormalization:
      error = 0.2;
      break;
    case Family::kTriton:
      error = 0.35;
      break;
    case Family::kSort:
    case Family::kScan:
    case Family::kIndex:
    case Family::kMisc:
    case Family::kSparse:
      error = 0.5;
      break;
    default:
      break;
  }
  // Four of 20 launches on H100 last 1.3 to six times as long, because indices are equal.
  if (demand.serial_duplicates) error += 0.5;
  return demand.evidence == Evidence::kParameters ? error : error + 0.2;
}

bool IsAttention(const Demand& demand) {
  const bool family =
      demand.family == Family::kAttentionForward || demand.family == Family::kAttentionBackward;
  return family && demand.query_length > 0 && demand.key_length > 0 && demand.head_size > 0 &&
         demand.batch_heads > 0;
}

// As a batch of equal groups: a kernel that stays on its multiprocessors gives the next tile to
// whoever is free, so how rows are spread over groups matters little while each has many tiles. How
// CUTLASS's kernel compares with the library's is not known from measurements; that is in the
// error.
Prediction PredictGrouped(const gpu_model::GpuModel& gpu, const workload::GroupedGemm& gemm,
                          const kernel::KernelName& name) {
  using Ragged = workload::GroupedGemm::Ragged;
  constexpr double kGroupedError = 0.3;
  const auto groups = static_cast<double>(gemm.groups);
  const auto part = [&](std::uint64_t size, Ragged dimension) {
    const double whole = static_cast<double>(size);
    return gemm.ragged == dimension ? std::max(1.0, whole / groups) : whole;
  };
  GemmModel::Shape shape = {.batch = groups,
                            .m = part(gemm.m, Ragged::kM),
                            .n = part(gemm.n, Ragged::kN),
                            .k = part(gemm.k, Ragged::kK)};
  if (name.Has("float_e4m3_t") || name.Has("float_e5m2_t")) {
    shape.type = "fp8";
    shape.input_bytes = 1;
  }
  Prediction prediction = GemmModel::Get().Predict(gpu, shape);
  prediction.relative_error = std::max(prediction.relative_error, kGroupedError);
  return prediction;
}

// Log-log interpolation between the neighbours on both sides; never past them, and only when they
// are within a factor of two of the size.
std::optional<Estimate> Interpolate(const std::vector<Neighbour>& points, double size) {
  const auto above = std::lower_bound(points.begin(), points.end(), size,
                                      [](const Neighbour& p, double s) { return p.size < s; });
  if (above == points.end() || above == points.begin() || size <= 0) return std::nullopt;
  const Neighbour& high = *above;
  const Neighbour& low = *(above - 1);
  if (low.size <= 0 || high.size > 2 * size || size > 2 * low.size) return std::nullopt;
  if (std::min(low.median, high.median) <= kWithinLaunchGap) return std::nullopt;
  const double share = std::log(size / low.size) / std::log(high.size / low.size);
  const double log_low = std::log(low.median.Seconds());
  const double log_high = std::log(std::max(high.median, low.median).Seconds());
  Estimate estimate;
  estimate.duration = OperationTime(std::exp(log_low + share * (log_high - log_low)));
  estimate.source = estimate::Source::kInterpolated;
  estimate.relative_error = 0.05;
  return estimate;
}

}  // namespace

Estimate CarriedToClock(const Estimate& own, double seconds, double scaled_seconds, double clock) {
  const double whole = 1 / clock;
  const double ratio =
      seconds > 0 ? std::clamp(scaled_seconds / seconds, std::min(1.0, whole), std::max(1.0, whole))
                  : 1.0;
  // Copies over links and memory do not know of the clock.
  if (ratio == 1 && own.family.starts_with("mem")) return own;
  Estimate carried = own;
  carried.duration = OperationTime(own.duration.Seconds() * ratio);
  if (own.source != estimate::Source::kAssumed) carried.source = estimate::Source::kModelled;
  const double deviation = std::abs(whole - 1) / std::sqrt(12.0);
  carried.relative_error = std::hypot(own.relative_error, deviation);
  return carried;
}

Estimate Estimator::Of(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item) {
  Estimate estimate = gpu.fixed ? FixedEstimate(gpu, item) : Timed(gpu, item);
  estimate.counts = CountsOf(item, &names_);
  if (gpu.power && !gpu.fixed) estimate.duty = DutyOf(gpu, item, estimate.counts);
  if (!gpu.fixed) estimate.memory_share = MemoryShare(gpu, estimate);
  return estimate;
}

Estimate Estimator::AtClock(const Estimate& own, const gpu_model::GpuModel& gpu,
                            const gpu_model::GpuModel& scaled, const kernel::WorkItem& item) {
  if (gpu.fixed) return own;
  return CarriedToClock(own, Modelled(gpu, item).duration.Seconds(),
                        Modelled(scaled, item).duration.Seconds(), scaled.clock_scale);
}

Estimate Estimator::Timed(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item) {
  Estimate modelled = Modelled(gpu, item);
  if (measurements_ == nullptr) return modelled;
  if (const auto found = measurements_->Find(gpu.name, kernel::WorkKey(item))) {
    return {found->median,        estimate::Source::kMeasured, found->spread, modelled.family, {},
            modelled.memory_bytes};
  }
  const auto points = measurements_->Class(gpu.name, kernel::ClassKey(item));
  if (auto between = Interpolate(points, SizeOf(item))) {
    between->family = modelled.family;
    between->memory_bytes = modelled.memory_bytes;
    return *between;
  }
  return modelled;
}

double Estimator::SizeOf(const kernel::WorkItem& item) {
  if (const auto* launch = std::get_if<kernel::KernelLaunch>(&item)) {
    if (const auto gemm = kernel::FindGroupedGemm(*launch)) {
      return static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
             static_cast<double>(gemm->k);
    }
    const Demand demand = kernel::Recognise(*launch, *names_.Get(launch->name));
    return demand.bytes + demand.flops;
  }
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) return static_cast<double>(gemm->m);
  if (const auto* copy = std::get_if<kernel::Copy>(&item)) return static_cast<double>(copy->bytes);
  if (const auto* call = std::get_if<kernel::LibraryCall>(&item)) {
    return static_cast<double>(call->flops) + static_cast<double>(call->memory_bytes);
  }
  double elements = 0;
  for (const kernel::DnnTensor& tensor : std::get<kernel::DnnGraph>(item).tensors) {
    double count = 1;
    for (const std::int64_t dim : tensor.Dims()) count *= static_cast<double>(dim);
    elements += count;
  }
  return elements;
}

Estimate Estimator::KernelTime(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch) {
  const auto name = names_.Get(launch.name);
  if (const auto gemm = kernel::FindGroupedGemm(launch)) {
    return Make(PredictGrouped(gpu, *gemm, *name), kernel::Name(Family::kGemm));
  }
  const Demand demand = kernel::Recognise(launch, *name);
  if (IsAttention(demand)) {
    if (const auto served = PredictServedAttention(gpu, demand)) {
      return Make(AtLeast(gpu, *served, demand.bytes), kernel::Name(demand.family), demand.bytes);
    }
    const bool efficient = name->base.starts_with("fmha_");
    Prediction prediction = PredictAttention(
        gpu, demand, efficient ? AttentionLibrary::kMemoryEfficient : AttentionLibrary::kFlash2);
    if (demand.evidence != Evidence::kParameters) prediction.relative_error += 0.2;
    return Make(AtLeast(gpu, prediction, demand.bytes), kernel::Name(demand.family), demand.bytes);
  }
  Parallelism parallelism;
  parallelism.blocks = static_cast<double>(launch.grid.Count());
  parallelism.threads = parallelism.blocks * static_cast<double>(launch.block.Count());
  parallelism.resident = launch.blocks_per_multiprocessor;
  Prediction prediction;
  prediction.seconds = DemandSeconds(gpu, demand, parallelism);
  prediction.relative_error = KernelError(demand);
  if (demand.evidence == Evidence::kGuess) {
    prediction.source = estimate::Source::kAssumed;
    prediction.relative_error = kAssumedError;
  }
  // Nothing is known of what a kernel moves that no rule recognises.
  const double bytes = demand.evidence == Evidence::kGuess ? 0 : demand.bytes;
  return Make(AtLeast(gpu, prediction, demand.bytes), kernel::Name(demand.family), bytes);
}

Estimate Estimator::Modelled(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item) {
  if (const auto* launch = std::get_if<kernel::KernelLaunch>(&item)) {
    return KernelTime(gpu, *launch);
  }
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) {
    const double bytes = OperandBytes(*gemm);
    return Make(AtLeast(gpu, GemmModel::Get().Predict(gpu, *gemm), bytes), "gemm", bytes);
  }
  if (const auto* graph = std::get_if<kernel::DnnGraph>(&item)) {
    const DnnPrediction found = PredictDnn(gpu, *graph);
    const double bytes = MemoryBytes(*graph);
    return Make(AtLeast(gpu, found.prediction, bytes), kernel::Name(found.family), bytes);
  }
  if (const auto* copy = std::get_if<kernel::Copy>(&item)) {
    const bool is_memset = copy->kind == workload::CopyKind::kMemset;
    const bool is_inside = copy->kind == workload::CopyKind::kDeviceToDevice;
    const double passes = is_inside ? 2 : (is_memset ? 1 : 0);
    return Make(PredictCopy(gpu, *copy), is_memset ? "memset" : "memory_copy",
                passes * static_cast<double>(copy->bytes));
  }
  const auto& call = std::get<kernel::LibraryCall>(item);
  Demand demand;
  demand.bytes = static_cast<double>(call.memory_bytes);
  demand.flops = static_cast<double>(call.flops);
  demand.type = kernel::CudaTypeName(call.type);
  demand.efficiency = 0.7;
  // A cell computes five functions of what it has loaded before it stores.
  if (call.name.starts_with("cudnn.rnn_cell")) demand.serial_steps = 1;
  Prediction prediction;
  prediction.seconds = DemandSeconds(gpu, demand, {});
  prediction.relative_error = 0.5;
  // Without a count there is nothing but the floor to go by.
  if (call.flops == 0 && call.memory_bytes == 0) prediction.source = estimate::Source::kAssumed;
  return Make(prediction, "library", demand.bytes);
}

}  // namespace eidolon::timing::model
