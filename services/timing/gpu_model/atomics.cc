#include "services/timing/gpu_model/atomics.h"

#include <algorithm>
#include <cmath>

#include "services/contract/machine/machine.h"

namespace eidolon::timing::gpu_model {
double Slices(const GpuModel& gpu) {
  return gpu.memory_bus_bits >= machine::kStackBits ? gpu.memory_bus_bits / machine::kSliceBits : 0;
}

double AtomicSeconds(const GpuModel& gpu, double rounds, double lines) {
  if (!(rounds > 0)) return 0;
  // Of other memory how many there are is not published: one for two multiprocessors is assumed.
  const double known = Slices(gpu);
  const double slices = known > 0 ? known : static_cast<double>(gpu.multiprocessors) / 2;
  const double used = std::max(lines, 1.0);
  // The busiest of `slices` bins with `used` balls, whose mean is small (Raab and Steger, "Balls
  // into Bins: A Simple and Tight Analysis", 1998, the case of many balls).
  const double mean = used / slices;
  const double busiest = std::max(1.0, mean + std::sqrt(2 * mean * std::log(slices)));
  return rounds * machine::kAtomicRoundClocks * busiest / used /
         static_cast<double>(gpu.boost_clock_hz);
}

}  // namespace eidolon::timing::gpu_model
