// Handlers are plain functions, so the watch is found through a variable of the thread, and a step
// by its place in the copy of the program; there can be one watch in a thread. A branch that splits
// a group has gone both ways. The guard is applied here and not by the main loop, which would pass
// over steps whose guard holds for no lane: that too is a direction.
#include "services/machine_code/interpret/branch_watch.h"

#include "services/base/check.h"
#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {
namespace {

thread_local BranchWatch* current = nullptr;

}  // namespace

BranchWatch::BranchWatch(const Program& program, std::span<const std::uint32_t> steps)
    : program_(program), watched_(program), ways_(program.steps.size()) {
  CHECK(current == nullptr);
  for (const std::uint32_t number : steps) {
    // Steps whose guard holds for no lane are left out before any handler sees them.
    Step& step = watched_.steps[number];
    step.run = Note;
    step.guard = sass::kTruePredicate;
    step.guard_negated = false;
  }
  current = this;
}

BranchWatch::~BranchWatch() { current = nullptr; }

void BranchWatch::Went(std::size_t step, std::uint32_t next) {
  Ways& ways = ways_[step];
  ways.parted = ways.parted || (ways.next && *ways.next != next);
  ways.next = next;
}

void BranchWatch::Note(Warp& warp, const Step& step, std::uint32_t mask) {
  const auto number = static_cast<std::size_t>(&step - current->watched_.steps.data());
  const Step& original = current->program_.steps[number];
  const auto behind = static_cast<std::uint32_t>(number + 1);
  const std::uint32_t guard =
      original.uniform ? warp.uniform_predicate[original.guard] : warp.predicate[original.guard];
  const std::uint32_t lanes = mask & (original.guard_negated ? ~guard : guard);
  if (!original.control) {
    current->Went(number, behind);
    if (lanes != 0) original.run(warp, step, lanes);
    return;
  }
  if (lanes == 0) {
    current->Went(number, behind);
    ++warp.group().at;
    return;
  }
  const std::size_t groups = warp.groups.size();
  original.run(warp, step, lanes);
  if (warp.launch->stop != Stop::kNone) return;
  if (original.operation == sass::Operation::kExit) {
    current->Went(number, kNoStep);
    if (lanes != mask) current->Went(number, behind);
  } else if (warp.groups.size() == groups) {
    current->Went(number, warp.group().at);
  } else {
    current->ways_[number].parted = true;
  }
}

BlockTrace BranchWatch::trace() const {
  BlockTrace trace;
  for (std::uint32_t i = 0; i < ways_.size(); ++i) {
    const Ways& ways = ways_[i];
    if (ways.next || ways.parted) trace.ran.push_back(i);
    if (ways.next && !ways.parted) trace.decisions.push_back({.step = i, .next = *ways.next});
  }
  return trace;
}

}  // namespace eidolon::interpret
