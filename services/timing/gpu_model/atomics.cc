#include "services/timing/gpu_model/atomics.h"

#include <algorithm>
#include <cmath>

namespace eidolon::timing::gpu_model {
namespace {

constexpr double kStackBits = 1024;
constexpr double kSliceBits = 64;

// Clocks of the boost clock: 64 M in 1024 words at random (13.1 G/s on H200, 2.2 clocks) and 4 M in
// 16 of one line (5.4 G/s, five lanes in the busiest word of a request; 2.3 clocks; e2e/measured).
constexpr double kRoundClocks = 2.2;

}  // namespace

double Slices(const GpuModel& gpu) {
  return gpu.memory_bus_bits >= kStackBits ? gpu.memory_bus_bits / kSliceBits : 0;
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
  return rounds * kRoundClocks * busiest / used / static_cast<double>(gpu.boost_clock_hz);
}

}  // namespace eidolon::timing::gpu_model
