// The figures that a prediction is led by: the iteration that repeats, and how much the whole job
// does in a second.
#pragma once

#include <cstdint>
#include <string>

namespace eidolon::controller::job {

// Tokens, samples or iterations that the whole job does in a second.
struct Throughput {
  std::string unit = "iterations";  // "tokens" or "samples" where their number is known.
  bool is_derived = false;          // By the job's launches; else declared, or counted.
  double per_iteration = 1;
  double per_second = 0;  // In the steady state.
  double low = 0;         // By the band of the steady iteration.
  double high = 0;        // 0: without a limit, as that band begins at 0.
};

// The iteration that repeats, without the extra work of some.
struct SteadyIteration {
  double seconds = 0;  // The median.
  double low = 0;      // The band, as of IterationSeconds.
  double high = 0;
  std::uint32_t count = 0;  // Measured iterations that repeat.
  std::uint32_t alike = 0;  // Measured iterations within a twentieth of `seconds`.
};

}  // namespace eidolon::controller::job
