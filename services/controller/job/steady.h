// Separates the time of the iteration that repeats from extra work that only some iterations do:
// an evaluation, a checkpoint.
//
// An iteration has extra work when it is longer than the median by more than a twentieth of it and
// by a modified z-score above 3.5 (unevenness.h). The others repeat; their median is the steady
// time. A program that trains several things after one another has iterations of several kinds, and
// a median between two kinds is the time of none: where most iterations are further from it than a
// twentieth, those repeat that are alike within a twentieth, if these are at least half of all.
// Where no half is alike, nothing repeats: the median stands for all, and the report says how
// few are near it. Extra work is named by what it consists of: more matrix operations with no more
// updates of the optimizer are a forward pass alone, an evaluation; copies to the host that take a
// twentieth of it, or as long as a rank's parameters need over PCIe at least, are a checkpoint.
// Anything else is named by where its time goes. Work that comes back after the same number of
// iterations each time is periodic, and costs its mean over that number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/controller/job/unevenness.h"

namespace eidolon::controller::job {

// Work of one iteration.
struct IterationWork {
  IterationParts parts;
  std::uint64_t matrix_flops = 0;   // Of all ranks.
  std::uint64_t updated_bytes = 0;  // Parameters that the optimizer has updated, of all ranks,
  std::uint64_t rank_bytes = 0;     // and of the rank with most of them.
  double copied_to_host = 0;        // Seconds, of all ranks together.
};

// Work that only some iterations do.
struct ExtraWork {
  std::string what;          // "evaluation", "checkpoint", "evaluation and checkpoint", ...
  std::uint32_t times = 0;   // Measured iterations that do it.
  std::uint32_t every = 0;   // It comes back after so many iterations; 0: not known.
  double seconds = 0;        // Of one time, a mean.
  double per_iteration = 0;  // Seconds of an iteration, a mean over those with and without it.

  bool operator==(const ExtraWork&) const = default;
};

struct Steady {
  double seconds = 0;                  // The median of those that repeat.
  std::vector<std::size_t> repeating;  // Their positions, in order.
  std::size_t alike = 0;               // Iterations within a twentieth of `seconds`.
  std::vector<ExtraWork> extra;        // Most expensive first.
};

// Requires: at least one iteration.
Steady FindSteady(std::span<const IterationWork> iterations);

}  // namespace eidolon::controller::job
