// Describes how the work of a grid's blocks grows along one of its sides, as it does under a causal
// mask: the law that follows from some of the blocks, and what an uneven grid costs. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/timing/count/counts.h"

namespace eidolon::timing::count {

// A block that was run: where it lies along a side, and what it had to do.
struct BlockWork {
  double place = 0;
  double work = 0;
};

// Weights, 1 in the mean, with which means over `blocks` are those of a place, where all that is
// counted grows evenly along the side: a line of least squares. Requires: two different places.
std::vector<double> WeightsAt(std::span<const BlockWork> blocks, double place);

// Returns the growth of a side of so many blocks, when the work of these grows evenly along it and
// by a part that matters. `period`: blocks in a row that lie at the same place.
std::optional<Growth> GrowthOf(std::span<const BlockWork> blocks, double steps, double period);

// Blocks of the mean's work that the busiest multiprocessor runs, where each takes the next block
// when one has ended and those that it runs at once take turns. Requires: growth of more than one
// step; at least one of each.
double BusiestBlocks(const Growth& growth, double blocks, double multiprocessors,
                     double resident_blocks);

}  // namespace eidolon::timing::count
