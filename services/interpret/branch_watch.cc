#include "services/interpret/branch_watch.h"

#include "services/base/check.h"
#include "services/interpret/warp.h"

namespace eidolon::interpret {
namespace {

thread_local BranchWatch* current = nullptr;

}  // namespace

BranchWatch::BranchWatch(const Program& program, std::span<const std::uint32_t> branches)
    : program_(program), watched_(program), ways_(program.steps.size()) {
  CHECK(current == nullptr);
  for (const std::uint32_t number : branches) {
    // Steps whose guard holds for no lane are left out before any handler sees them.
    Step& step = watched_.steps[number];
    step.run = Note;
    step.guard = sass::kTruePredicate;
    step.guard_negated = false;
  }
  current = this;
}

BranchWatch::~BranchWatch() { current = nullptr; }

void BranchWatch::Note(Warp& warp, const Step& step, std::uint32_t mask) {
  const auto number = static_cast<std::size_t>(&step - current->watched_.steps.data());
  const Step& original = current->program_.steps[number];
  Ways& ways = current->ways_[number];
  const std::uint32_t guard =
      original.uniform ? warp.uniform_predicate[original.guard] : warp.predicate[original.guard];
  const std::uint32_t lanes = mask & (original.guard_negated ? ~guard : guard);
  if (lanes == 0) {
    ways.passed = true;
    ++warp.group().at;
    return;
  }
  const std::uint32_t before = warp.group().at;
  const std::size_t groups = warp.groups.size();
  original.run(warp, step, lanes);
  if (original.operation == sass::Operation::kExit) {
    ways.taken = true;
    ways.passed = ways.passed || lanes != mask;
    return;
  }
  const bool together = warp.groups.size() == groups;
  const bool behind = together && warp.group().at == before + 1;
  ways.taken = ways.taken || !behind;
  ways.passed = ways.passed || behind || !together;
}

std::vector<Decision> BranchWatch::decisions() const {
  std::vector<Decision> result;
  for (std::uint32_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].taken != ways_[i].passed) result.push_back({.step = i, .taken = ways_[i].taken});
  }
  return result;
}

}  // namespace eidolon::interpret
