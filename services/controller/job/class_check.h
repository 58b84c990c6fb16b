// Checks whether live ranks of a folded job that are assumed to be alike have used memory and time
// alike. Mirrored ranks are mirrored from the live ranks next to them: where two neighbours differ,
// nothing says which of the two the ranks between are like.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/controller/job/measurement.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::job {

// Two live ranks of one class with mirrored ranks of that class between them, and none that is
// live.
struct Neighbours {
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
  std::uint32_t between = 0;  // A mirrored rank near the middle, to be made live to see.
};
// None for a job that is not folded.
std::vector<Neighbours> NeighboursOf(const folding::Fold& fold);

// A warning for neighbours whose peaks differ by more than 1 % of the larger one. Less is what
// uneven shards make. `memory`: of live ranks, in any order; others are left out.
std::vector<std::string> MemoryWarnings(const folding::Fold& fold,
                                        std::span<const RankMemory> memory);

// Compares for how long kernels keep the GPUs of neighbours busy in each iteration.
class ClassTimes {
 public:
  // A difference counts from this part of an iteration on. What is less cannot move the prediction
  // by more; the report counts it and names where it came about.
  static constexpr double kPartMax = 0.05;

  explicit ClassTimes(const folding::Fold& fold);

  // An answer once two neighbours have differed in two iterations in a row: the ranks, their times,
  // and what to do. The first iteration, in which one rank may prepare something for all, is left
  // out.
  std::optional<std::string> Add(const RankIteration& iteration);

 private:
  struct Pair {
    Neighbours ranks;
    std::map<std::uint32_t, RankIteration> waiting;  // By index: told by one of the two.
    std::optional<std::uint32_t> differed;           // The latest iteration in which they did.
  };
  static std::optional<std::string> Compare(Pair* pair, const RankIteration& a,
                                            const RankIteration& b);

  std::vector<Pair> pairs_;
};

}  // namespace eidolon::controller::job
