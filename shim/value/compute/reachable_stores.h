// Determines which stores of a kernel a launch can reach. Many kernels hold code for other launches
// of theirs: PyTorch's reductions hold the one in which several blocks work on a result and wait
// for each other. A branch that the launch's parameters alone decide goes the same way in every
// thread, so a few blocks tell which, and what lies behind the other way is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/value/compute/learning.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// The launch's parameters with each pointer in a window of its own (made_up_memory.h).
std::vector<std::byte> MadeUpParameters(const Learning& learning);

// Adds to the words that the memo depends on.
void NoteWordsRead(const Learning& learning, const std::vector<std::uint8_t>& read);

// Returns what the last of a row of blocks to come finds in their counter, eight bytes that repeat,
// for kernels that may count blocks.
std::vector<std::uint64_t> CounterPatterns(const Learning& learning);

// Those of `learning.stores` that such a launch can come to, seen anew: less may depend on values.
Stores ReachableStores(const Learning& learning, const value::Store& store);

// True when such a launch can come to an instruction that reads global memory. Requires: its first
// block read none.
bool MayReadMemory(const Learning& learning, const value::Store& store);

}  // namespace eidolon::shim::compute
