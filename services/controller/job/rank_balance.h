// Measures how evenly the ranks of a job are loaded: what each does by itself in an iteration,
// without the time in which only communication runs. A collective waits for the rank that does
// most.
#pragma once

#include <cstdint>

namespace eidolon::controller::job {

// Seconds of the iteration that repeats. Mirrored ranks count as the ones that they mirror.
struct RankBalance {
  std::uint32_t ranks = 0;     // That ran.
  std::int32_t slowest = 0;    // The rank that does most, on average.
  double slowest_seconds = 0;  // What it does.
  double mean_seconds = 0;     // Of all ranks.
  double excess_seconds = 0;   // By which the slowest rank of each iteration exceeds the mean.
};

}  // namespace eidolon::controller::job
