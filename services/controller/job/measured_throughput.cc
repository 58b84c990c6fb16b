// The figures of a measurement that a prediction is led by.
#include <algorithm>
#include <map>
#include <utility>

#include "services/controller/job/inputs.h"
#include "services/controller/job/measurement.h"
#include "services/controller/job/samples.h"
#include "services/controller/job/steady.h"

namespace eidolon::controller::job {
namespace {

constexpr double kPicosecond = 1e-12;

}  // namespace

std::vector<const Measurement::Iteration*> Measurement::AddSteady(
    const std::vector<const Iteration*>& measured, Prediction* prediction) const {
  std::vector<IterationWork> works;
  for (const Iteration* iteration : measured) {
    IterationWork& work = works.emplace_back();
    work.parts = PartsOf(*iteration);
    work.copied_to_host = static_cast<double>(iteration->copies_to_host_ps) * kPicosecond;
    for (const auto& [rank, counts] : iteration->counts) {
      work.matrix_flops += counts.matrix_flops;
      work.updated_bytes += counts.parameter_bytes;
      work.rank_bytes = std::max(work.rank_bytes, counts.parameter_bytes);
    }
  }
  Steady steady = FindSteady(works);
  std::vector<const Iteration*> repeating;
  for (const std::size_t i : steady.repeating) repeating.push_back(measured[i]);
  // The band of their mean, around their median.
  const MeanIteration mean = MeanOf(repeating);
  const double scale = mean.seconds > 0 ? steady.seconds / mean.seconds : 1;
  prediction->steady = {.seconds = steady.seconds,
                        .low = mean.low * scale,
                        .high = mean.high * scale,
                        .count = static_cast<std::uint32_t>(repeating.size()),
                        .alike = static_cast<std::uint32_t>(steady.alike)};
  prediction->extra_work = std::move(steady.extra);
  return repeating;
}

void Measurement::AddBalance(const std::vector<const Iteration*>& repeating,
                             Prediction* prediction) const {
  const auto weight_of = [&](std::int32_t rank) {
    const auto found = options_.weights.find(rank);
    return found == options_.weights.end() ? 1.0 : found->second;
  };
  const double unit = kPicosecond / static_cast<double>(repeating.size());
  std::map<std::int32_t, double> own;  // Seconds by rank, a mean over iterations.
  RankBalance balance;
  for (const Iteration* iteration : repeating) {
    double largest = 0;
    double sum = 0;
    double weights = 0;
    for (const auto& [rank, ps] : iteration->own_ps) {
      const auto length = static_cast<double>(ps);
      own[rank] += length * unit;
      largest = std::max(largest, length);
      sum += weight_of(rank) * length;
      weights += weight_of(rank);
    }
    balance.mean_seconds += sum / weights * unit;
    balance.excess_seconds += (largest - sum / weights) * unit;
  }
  balance.ranks = static_cast<std::uint32_t>(own.size());
  for (const auto& [rank, seconds] : own) {
    if (seconds <= balance.slowest_seconds) continue;
    balance.slowest = rank;
    balance.slowest_seconds = seconds;
  }
  prediction->balance = balance;
}

void Measurement::AddThroughput(const Iteration& first, const std::vector<RankTokens>& ranks,
                                Prediction* prediction) const {
  const SteadyIteration& steady = *prediction->steady;
  if (steady.seconds <= 0) return;
  RunKernels kernels;
  for (const auto& [key, kernel] : first.kernels) {
    kernels.families.insert(kernel.family);
    // "gemm bf16 TN 128x128x64 x12".
    kernels.has_batched_gemms |= kernel.family == "gemm" && kernel.name.contains(" x");
  }
  Throughput throughput;
  if (prediction->tokens_per_second) {
    throughput.unit = "tokens";
    throughput.is_derived = !prediction->tokens->is_declared;
    throughput.per_iteration = prediction->tokens->per_iteration;
  } else if (options_.samples > 0) {
    throughput.unit = "samples";
    throughput.per_iteration = static_cast<double>(options_.samples);
  } else if (const auto inputs = DeriveInputs(ranks)) {
    throughput.unit = "samples";
    throughput.is_derived = true;
    throughput.per_iteration = inputs->samples;
  } else if (const auto samples = DeriveSamples(ranks, kernels)) {
    throughput.unit = "samples";
    throughput.is_derived = true;
    throughput.per_iteration = *samples;
  }
  throughput.per_second = throughput.per_iteration / steady.seconds;
  throughput.low = steady.high > 0 ? throughput.per_iteration / steady.high : 0;
  throughput.high = steady.low > 0 ? throughput.per_iteration / steady.low : 0;
  prediction->throughput = throughput;
}

}  // namespace eidolon::controller::job
