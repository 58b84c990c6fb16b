// Sets of global ranks in ascending order, as runs of equal steps: groups of a parallel program are
// regular, so that a group of thousands of ranks is one run or a few.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/error.h"

namespace eidolon::folding {

// first, first + step, ..., `count` ranks.
struct RankRun {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t count = 0;
  bool operator==(const RankRun&) const = default;
};

// Returns as few runs as a single pass finds. Requires: `ranks` ascend strictly.
std::vector<RankRun> RunsOf(std::span<const std::uint32_t> ranks);

// The ranks of runs that follow each other. Fails when they do not ascend strictly, or reach
// `world`.
base::Result<std::vector<std::uint32_t>> RanksOf(std::span<const RankRun> runs,
                                                 std::uint32_t world);

}  // namespace eidolon::folding
