// One kernel often holds the code of several: parameters decide which of them runs, and the stores
// of the others would make the footprint far too large. A branch is called steady when parameters
// and shape alone decide it; all threads then go the same way, so a few blocks on made-up memory
// show which. Only steady branches are resolved: where two traces disagree about one after all, it
// counts as undecided. Each word of the parameters that these runs read becomes part of the memo's
// condition, because another value might take the other way.
#include "shim/value/compute/reachable_stores.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "services/machine_code/interpret/branch_watch.h"
#include "services/machine_code/interpret/operation_kinds.h"
#include "services/machine_code/interpret/run.h"
#include "shim/value/compute/made_up_memory.h"

namespace eidolon::shim::compute {
namespace {

constexpr interpret::Limits kReachLimits{.warp_steps = 100'000};

// First, middle and last: near its edges a grid may have nothing to do.
std::vector<std::uint64_t> SomeBlocks(const interpret::Dims& grid) {
  const std::uint64_t count = grid.volume();
  std::vector<std::uint64_t> blocks = {0, count / 2, count - 1};
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

// What some blocks do, with whatever memory holds: it tells even when they come to no end.
std::vector<interpret::BlockTrace> WatchSomeBlocks(const Learning& learning,
                                                   const value::Store& store) {
  const std::vector<std::byte> parameters = MadeUpParameters(learning);
  std::vector<std::uint8_t> read;
  interpret::Launch launch = learning.launch;
  launch.parameters = parameters;
  launch.words_read = &read;
  std::vector<std::uint64_t> patterns = CounterPatterns(learning);
  patterns.push_back(0);
  const std::vector<std::uint32_t> ends = interpret::Flow(learning.program).Ends();
  std::vector<interpret::BlockTrace> traces;
  for (const std::uint64_t block : SomeBlocks(learning.launch.grid)) {
    launch.blocks = std::span(&block, 1);
    for (const std::uint64_t pattern : patterns) {
      interpret::BranchWatch watch(learning.program, ends);
      MadeUpMemory memory(store, pattern, learning.saw_variables);
      interpret::Run(watch.program(), launch, memory, kReachLimits);
      NoteWordsRead(learning, read);
      traces.push_back(watch.trace());
      traces.back().block = block;
    }
  }
  return traces;
}

// Returns the decisions of branches that go one way in each trace.
std::vector<interpret::Decision> SteadyDecisions(std::span<const std::uint32_t> steady,
                                                 std::span<const interpret::BlockTrace> traces) {
  std::vector<interpret::Decision> decisions;
  for (const interpret::BlockTrace& trace : traces) {
    for (const interpret::Decision& decision : trace.decisions) {
      const bool known = std::ranges::find(decisions, decision.step, &interpret::Decision::step) !=
                         decisions.end();
      if (!known && std::ranges::binary_search(steady, decision.step)) {
        decisions.push_back(decision);
      }
    }
  }
  // What is steady differs nowhere; should it, it is not decided.
  std::erase_if(decisions, [&](const interpret::Decision& decision) {
    return std::ranges::any_of(traces, [&](const interpret::BlockTrace& trace) {
      return std::ranges::binary_search(trace.ran, decision.step) &&
             std::ranges::find(trace.decisions, decision) == trace.decisions.end();
    });
  });
  return decisions;
}

std::vector<std::uint32_t> SteadySteps(const Learning& learning) {
  if (learning.steady != nullptr) return *learning.steady;
  return interpret::FindSteadyBranches(learning.program);
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
  const std::vector<std::uint32_t> steady = SteadySteps(learning);
  const interpret::Launch& whole = learning.launch;
  if (whole.grid.volume() == 0) return learning.stores;
  const std::vector<interpret::BlockTrace> traces = WatchSomeBlocks(learning, store);
  const std::vector<interpret::Decision> decisions = SteadyDecisions(steady, traces);
  return interpret::FindStores(learning.program, learning.pointers.Places(),
                               {.decisions = decisions,
                                .shape = {.grid = whole.grid, .block = whole.block},
                                .traces = traces});
}

bool MayReadMemory(const Learning& learning, const value::Store& store) {
  const std::vector<interpret::Step>& steps = learning.program.steps;
  if (steps.empty() || learning.launch.grid.volume() == 0) return true;
  const std::vector<std::uint32_t> steady = SteadySteps(learning);
  const std::vector<interpret::BlockTrace> traces = WatchSomeBlocks(learning, store);
  const std::vector<interpret::Decision> decisions = SteadyDecisions(steady, traces);
  const interpret::Flow flow(learning.program, decisions);
  for (const std::uint32_t number : flow.BodyOf(0)) {
    const interpret::FlowBlock& block = flow.blocks()[number];
    // The first block of the launch came here: what all threads do or none, none does.
    const bool was_run = std::ranges::binary_search(traces.front().ran, block.end - 1);
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const bool is_known_not_to = was_run && std::ranges::binary_search(steady, at);
      if (interpret::ReadsGlobal(steps[at].operation) && !is_known_not_to) return true;
    }
  }
  return false;
}

}  // namespace eidolon::shim::compute
