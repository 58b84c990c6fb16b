#include "shim/compute/reachable_stores.h"

#include <algorithm>
#include <cstring>

#include "services/interpret/branch_watch.h"
#include "services/interpret/run.h"
#include "shim/compute/made_up_memory.h"

namespace eidolon::shim::compute {
namespace {

constexpr interpret::Limits kLimits{.warp_steps = 200'000};

// First, middle and last: near its edges a grid may have nothing to do.
std::vector<std::uint64_t> SomeBlocks(const interpret::Dims& grid) {
  const std::uint64_t count = grid.volume();
  std::vector<std::uint64_t> blocks = {0, count / 2, count - 1};
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

}  // namespace

std::vector<std::byte> MadeUpParameters(const Learning& learning) {
  const std::span<const std::byte> parameters = learning.launch.parameters;
  std::vector<std::byte> result(parameters.begin(), parameters.end());
  for (std::size_t i = 0; i < learning.pointers.list.size(); ++i) {
    const PointerWord& pointer = learning.pointers.list[i];
    const std::uint64_t made_up = WindowBase(i) | (pointer.address & kKeptLowBits);
    std::memcpy(result.data() + pointer.at, &made_up, sizeof(made_up));
  }
  return result;
}

void NoteWordsRead(const Learning& learning, const std::vector<std::uint8_t>& read) {
  std::vector<std::uint8_t>* const all = learning.words_read;
  if (all == nullptr) return;
  all->resize(std::max(all->size(), read.size()));
  for (std::size_t i = 0; i < read.size(); ++i) (*all)[i] |= read[i];
}

std::vector<std::uint64_t> CounterPatterns(const Learning& learning) {
  const bool asks_what_was_there =
      std::ranges::any_of(learning.stores, [&](const interpret::StoreSite& site) {
        const sass::Operation operation = learning.program.steps[site.step].operation;
        return operation == sass::Operation::kAtom || operation == sass::Operation::kAtomCas ||
               operation == sass::Operation::kAtomFloat;
      });
  if (!asks_what_was_there) return {};
  std::vector<std::uint64_t> patterns;
  for (const std::uint32_t blocks : {learning.launch.grid.x, learning.launch.grid.y}) {
    patterns.push_back(std::uint64_t{blocks - 1} << 32 | (blocks - 1));
  }
  return patterns;
}

Stores ReachableStores(const Learning& learning, const value::Store& store) {
  std::vector<std::uint32_t> found;
  if (learning.steady == nullptr) found = interpret::FindSteadyBranches(learning.program);
  const std::vector<std::uint32_t>& steady = learning.steady == nullptr ? found : *learning.steady;
  const interpret::Launch& whole = learning.launch;
  std::vector<interpret::Decision> decisions;
  if (!steady.empty() && whole.grid.volume() != 0) {
    interpret::BranchWatch watch(learning.program, steady);
    const std::vector<std::byte> parameters = MadeUpParameters(learning);
    std::vector<std::uint8_t> read;
    interpret::Launch launch = whole;
    launch.parameters = parameters;
    const std::vector<std::uint64_t> blocks = SomeBlocks(whole.grid);
    launch.blocks = blocks;
    launch.words_read = &read;
    std::vector<std::uint64_t> patterns = CounterPatterns(learning);
    patterns.push_back(0);
    for (const std::uint64_t pattern : patterns) {
      MadeUpMemory memory(store, pattern);
      // What it saw holds even when it comes to no end.
      interpret::Run(watch.program(), launch, memory, kLimits);
      NoteWordsRead(learning, read);
    }
    decisions = watch.decisions();
  }
  if (decisions.empty() && !interpret::LooksUpParameters(learning.program)) return learning.stores;
  return interpret::FindStores(
      learning.program, learning.pointers.Places(),
      {.decisions = decisions, .shape = {.grid = whole.grid, .block = whole.block}});
}

}  // namespace eidolon::shim::compute
