#include "services/timing/model/fixed_durations.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "services/base/check.h"

namespace eidolon::timing::model {
namespace {

using base::Duration;
using gpu_model::FixedDurations;

std::uint64_t Times(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t result = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return result;
}

Duration BytesTime(const FixedDurations& fixed, std::uint64_t bytes) {
  return base::TransferTime(bytes, fixed.bytes_per_second);
}

// Returns the time beyond what all work takes.
Duration TimeOf(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch) {
  const std::uint64_t waves =
      (launch.grid.Count() + gpu.multiprocessors - 1) / std::uint64_t{gpu.multiprocessors};
  const auto wave = static_cast<std::uint64_t>(gpu.fixed->wave.ps);
  const std::uint64_t ps = Times({waves, wave});
  return {static_cast<std::int64_t>(std::min<std::uint64_t>(ps, kLongestOperation.ps))};
}

Duration TimeOf(const gpu_model::GpuModel& gpu, const kernel::Gemm& gemm) {
  return base::TransferTime(Times({2, gemm.m, gemm.n, gemm.k, gemm.batch}),
                            gpu.fixed->operations_per_second);
}

Duration TimeOf(const gpu_model::GpuModel& gpu, const kernel::DnnGraph& graph) {
  constexpr std::uint64_t kElementBytes = 4;
  Duration time;
  for (const kernel::DnnTensor& tensor : graph.tensors) {
    if (tensor.is_virtual) continue;
    std::uint64_t bytes = kElementBytes;
    for (const std::int64_t size : tensor.Dims()) {
      bytes = Times({bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))});
    }
    time = time + BytesTime(*gpu.fixed, bytes);
  }
  return time;
}

Duration TimeOf(const gpu_model::GpuModel& gpu, const kernel::Copy& copy) {
  return BytesTime(*gpu.fixed, copy.bytes);
}

Duration TimeOf(const gpu_model::GpuModel& gpu, const kernel::LibraryCall& call) {
  return base::TransferTime(call.flops, gpu.fixed->operations_per_second) +
         BytesTime(*gpu.fixed, call.memory_bytes);
}

}  // namespace

Estimate FixedEstimate(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item) {
  CHECK(gpu.fixed);
  const Duration more = std::visit([&](const auto& work) { return TimeOf(gpu, work); }, item);
  Estimate estimate;
  estimate.duration = std::min(gpu.fixed->work + more, kLongestOperation);
  estimate.source = estimate::Source::kAssumed;
  estimate.relative_error = 1;
  estimate.family = "fixed";
  return estimate;
}

}  // namespace eidolon::timing::model
