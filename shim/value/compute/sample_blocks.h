// Chooses the blocks of a large grid that are run to see where all of them write.
#pragma once

#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/warp.h"

namespace eidolon::shim::compute {

// Blocks count through the grid, x first. Requires: the grid has blocks.

// Returns where rows begin that are first or last.
std::vector<std::uint64_t> OuterRows(const interpret::Dims& grid);

// The blocks at the corners and some between them.
std::vector<std::uint64_t> SampleBlocks(const interpret::Dims& grid);

// Others, spread over the grid.
std::vector<std::uint64_t> CheckBlocks(const interpret::Dims& grid);

void MakeUnique(std::vector<std::uint64_t>& blocks);

}  // namespace eidolon::shim::compute
