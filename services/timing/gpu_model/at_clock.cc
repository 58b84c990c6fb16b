#include "services/timing/gpu_model/at_clock.h"

#include <algorithm>
#include <cmath>

#include "services/base/check.h"
#include "services/contract/machine/machine.h"

namespace eidolon::timing::gpu_model {

GpuModel AtClock(const GpuModel& gpu, double scale) {
  CHECK(scale >= machine::kClockMin && scale <= machine::kClockMax);
  GpuModel scaled = gpu;
  scaled.clock_scale = gpu.clock_scale * scale;
  for (std::uint64_t* clock : {&scaled.boost_clock_hz, &scaled.sustained_clock_hz}) {
    *clock = static_cast<std::uint64_t>(std::round(static_cast<double>(*clock) * scale));
  }
  for (auto* rates : {&scaled.peak_flops, &scaled.sustained_flops}) {
    for (auto& [type, rate] : *rates) rate *= scale;
  }
  if (scaled.power) {
    // Arithmetic draws power with f x V^2 and V about with f; at a set clock as at one under a
    // limit.
    const double cube = scale * scale * scale;
    scaled.power->matrix_watts *= cube;
    scaled.power->matrix_rate_watts *= cube;
    // What moves a byte draws energy with V^2, the memory's chips apart.
    const double chips = MemoryChipWatts(gpu);
    for (double* watts : {&scaled.power->matrix_bytes_watts, &scaled.power->memory_watts}) {
      const double fixed = std::min(*watts, chips);
      *watts = fixed + (*watts - fixed) * scale * scale;
    }
  }
  return scaled;
}

}  // namespace eidolon::timing::gpu_model
