#include "services/controller/job/gpu_effort.h"

namespace eidolon::controller::job {

std::optional<MatrixRate> MatrixRateOf(const GpuEffort& effort, double peak) {
  if (effort.matrix_flops == 0 || effort.seconds <= 0 || effort.runs <= 0) return std::nullopt;
  const double each = static_cast<double>(effort.matrix_flops) / effort.runs;
  return MatrixRate{.flops_per_gpu = each, .flops_per_second = each / effort.seconds, .peak = peak};
}

std::optional<Energy> EnergyOf(const GpuEffort& effort, double gpus, double units) {
  constexpr double kMicro = 1e-6;
  constexpr double kMilli = 1e-3;
  const RankEnergy& sum = effort.energy;
  if (sum.microjoules == 0 || effort.seconds <= 0 || effort.runs <= 0) return std::nullopt;
  const double each = static_cast<double>(sum.microjoules) * kMicro / effort.runs;
  Energy energy;
  energy.joules = each * gpus;
  if (units > 0) energy.per_unit = energy.joules / units;
  energy.mean_watts = each / effort.seconds;
  energy.peak_watts = static_cast<double>(sum.peak_milliwatts) * kMilli;
  return energy;
}

}  // namespace eidolon::controller::job
