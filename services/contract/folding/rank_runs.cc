#include "services/contract/folding/rank_runs.h"

#include "services/base/text.h"

namespace eidolon::folding {

std::vector<RankRun> RunsOf(std::span<const std::uint32_t> ranks) {
  std::vector<RankRun> runs;
  for (std::size_t at = 0; at < ranks.size();) {
    RankRun run{.first = ranks[at], .step = 1, .count = 1};
    if (at + 1 < ranks.size()) run.step = ranks[at + 1] - ranks[at];
    while (at + run.count < ranks.size() &&
           ranks[at + run.count] - ranks[at + run.count - 1] == run.step) {
      ++run.count;
    }
    // Of two ranks the second may begin a longer run: {0, 7, 8, 9} is {0} and {7, 8, 9}.
    if (run.count == 2 && at + 2 < ranks.size()) run.count = 1;
    if (run.count == 1) run.step = 1;
    at += run.count;
    runs.push_back(run);
  }
  return runs;
}

base::Result<std::vector<std::uint32_t>> RanksOf(std::span<const RankRun> runs,
                                                 std::uint32_t world) {
  std::vector<std::uint32_t> ranks;
  std::uint64_t next = 0;  // The lowest rank that may follow.
  for (const RankRun& run : runs) {
    const std::uint64_t last =
        run.first + std::uint64_t{run.step} * (run.count == 0 ? 0 : run.count - 1);
    if (run.count == 0 || run.step == 0 || run.first < next || last >= world) {
      return base::Fail(
          base::ErrorCode::kInvalidArgument,
          base::StrCat("a run of ", run.count, " ranks from ", run.first, " in steps of ", run.step,
                       " is not a part of ", world, " ranks in ascending order"));
    }
    for (std::uint32_t i = 0; i < run.count; ++i) ranks.push_back(run.first + i * run.step);
    next = last + 1;
  }
  return ranks;
}

}  // namespace eidolon::folding
