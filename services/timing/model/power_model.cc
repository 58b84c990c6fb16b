#include "services/timing/model/power_model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "services/contract/machine/machine.h"

namespace eidolon::timing::model {

namespace {

// Shares of the peak and the bandwidth; fit/power.py has the first one.
constexpr double kFilled = 0.05;
// GEMMs up to 0.7 of the bandwidth are slowed down by the limit like those that move little
// (fit/power.py); none can exceed the bandwidth that large kernels reach.
constexpr double kBoundByMemory = 0.7;

double PeakOf(const gpu_model::GpuModel& gpu, std::string_view type) {
  const auto found = gpu.peak_flops.find(std::string(type));
  return found != gpu.peak_flops.end() ? found->second : gpu.peak_flops.at("bf16");
}

}  // namespace

Duty DutyOf(const gpu_model::GpuModel& gpu, std::string_view type,
            const kernel::WorkCounts& counts) {
  Duty duty;
  if (counts.matrix_flops > 0) duty.matrix_seconds = counts.matrix_flops / PeakOf(gpu, type);
  duty.memory_seconds = counts.bytes / static_cast<double>(gpu.memory_bytes_per_second);
  return duty;
}

Draw DrawOf(const gpu_model::GpuModel& gpu, const Duty& duty, base::Duration duration) {
  if (!gpu.power || duration.ps <= 0) return {};
  const gpu_model::PowerFacts& power = *gpu.power;
  const double rate = std::min(1.0, duty.matrix_seconds / duration.Seconds());
  const double bytes = std::min(1.0, duty.memory_seconds / duration.Seconds());
  const double moving = power.memory_watts * bytes;
  const double chips = gpu_model::MemoryChipWatts(gpu) * bytes;
  if (rate == 0) return {.watts = moving, .memory_watts = std::min(chips, moving)};
  const double units = power.matrix_watts * std::min(1.0, rate / kFilled) +
                       power.matrix_rate_watts * rate + power.matrix_bytes_watts * bytes;
  const double attained = std::max(gpu.attained_memory_share, kBoundByMemory + 0.01);
  const double bound = (bytes - kBoundByMemory) / (attained - kBoundByMemory);
  const double watts = std::max(units, moving);
  return {.watts = watts,
          .memory_watts = std::min(chips, watts),
          .clock_share = 1 - std::clamp(bound, 0.0, 1.0)};
}

double SlowdownAtLimit(const gpu_model::GpuModel& gpu, const Draw& draw) {
  if (!gpu.power) return 1;
  const double room = gpu.power->held_share * gpu.power_limit_watts - gpu.power->floor_watts;
  if (room <= 0 || draw.watts <= room) return 1;
  const auto time = [&](double clock) { return 1 + draw.clock_share * (1 / clock - 1); };
  double low = machine::kClockMin;
  double high = 1;
  for (int step = 0; step < 40; ++step) {
    const double clock = (low + high) / 2;
    const double joules = (draw.watts - draw.memory_watts) * clock * clock + draw.memory_watts;
    (joules / time(clock) > room ? high : low) = clock;
  }
  return time(low);
}

}  // namespace eidolon::timing::model
