// Measures the rate of the tick counter against the monotonic clock.
//
// Both are read one after the other, and the operating system may stop the thread in between: such
// a pair of readings says nothing, so a reading counts only if ticks read before and after it are
// close together. Stateless.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace eidolon::shim::core {

// The two clocks at one moment.
struct ClockPair {
  std::int64_t ns = 0;
  std::uint64_t ticks = 0;
};

// The tightest of a few readings: the nanoseconds lie between two readings of the ticks, whose
// middle is given. ReadNs and ReadTicks: callables without arguments.
template <typename NsReader, typename TickReader>
ClockPair ReadTogether(NsReader&& read_ns, TickReader&& read_ticks) {
  constexpr int kReadings = 8;
  ClockPair best;
  std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = read_ticks();
    const std::int64_t ns = read_ns();
    const std::uint64_t width = read_ticks() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {.ns = ns, .ticks = before + width / 2};
  }
  return best;
}

// Picoseconds a tick, measured over at least `span_ns`, during which the caller spins.
template <typename NsReader, typename TickReader>
double MeasurePsPerTick(std::int64_t span_ns, NsReader&& read_ns, TickReader&& read_ticks) {
  const ClockPair begin = ReadTogether(read_ns, read_ticks);
  while (read_ns() - begin.ns < span_ns) {
  }
  const ClockPair end = ReadTogether(read_ns, read_ticks);
  const std::uint64_t ticks = std::max<std::uint64_t>(end.ticks - begin.ticks, 1);
  return static_cast<double>(end.ns - begin.ns) * 1000.0 / static_cast<double>(ticks);
}

}  // namespace eidolon::shim::core
