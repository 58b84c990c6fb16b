// A branch that values in memory decide matters for the code between it and the place where its
// ways meet again. That place is the branch's immediate postdominator, found as dominators of the
// reversed graph. A call does not make an edge of this graph: control goes on behind it, and the
// function hangs beside as callee, or else every function that is called twice would join its
// callers' ways. Ways that are not known are added, never left out, so what follows from the flow
// can be too wide and not too narrow; decisions of a launch that was watched take ways out again.
#include "services/machine_code/interpret/flow.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace eidolon::interpret {
namespace {

using sass::Operation;

constexpr std::uint32_t kNone = kNoBlock;

bool IsIndirect(Operation operation) {
  return operation == Operation::kBrx || operation == Operation::kBrxu;
}

bool EndsBlock(const Step& step) {
  switch (step.operation) {
    case Operation::kBra:
    case Operation::kBrx:
    case Operation::kBrxu:
    case Operation::kCall:
    case Operation::kCallAbsolute:
    case Operation::kRet:
    case Operation::kExit:
    case Operation::kBpt:
    case Operation::kEndcollective:
      return true;
    default:
      return false;
  }
}

// Some lanes may go on behind it.
bool MayPass(const Step& step) {
  const bool always = step.guard == sass::kTruePredicate && !step.guard_negated;
  const bool second = step.operation != Operation::kBpt && step.operation != Operation::kBrxu &&
                      step.word.Bits(87, 4) != sass::kTruePredicate;
  if (step.operation == Operation::kBra && sass::FormOf(step.word) == 2) return true;
  // Branches for diverged lanes only wait for the others here.
  const bool waits = step.operation == Operation::kBra && step.word.Bits(32, 2) >= 2;
  return !always || second || waits || step.operation == Operation::kBrxu;
}

// Every step that an indirect branch may lead to; none: it may lead anywhere.
std::vector<std::uint32_t> IndirectTargets(const Program& program, std::uint32_t step) {
  const auto told = program.indirect_targets.find(step);
  if (told != program.indirect_targets.end()) return told->second;
  std::vector<std::uint32_t> targets;
  const auto found = program.banks.find(2);
  if (found == program.banks.end()) return targets;
  for (std::size_t at = 0; at + 4 <= found->second.size(); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, found->second.data() + at, 4);
    if (word % sass::kWordBytes != 0 || word / sass::kWordBytes >= program.steps.size()) continue;
    targets.push_back(static_cast<std::uint32_t>(word / sass::kWordBytes));
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

}  // namespace

Flow::Flow(const Program& program, std::span<const Decision> decisions) {
  Split(program);
  Connect(program);
  for (const Decision& decision : decisions) Decide(decision);
  FindMeetings();
}

void Flow::Split(const Program& program) {
  const std::size_t count = program.steps.size();
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = program.steps[i];
    if (!EndsBlock(step)) continue;
    starts[i + 1] = true;
    if (step.operation == Operation::kBra || step.operation == Operation::kCall) {
      starts[step.jump] = true;
    }
    if (IsIndirect(step.operation)) {
      const auto from = static_cast<std::uint32_t>(i);
      for (const std::uint32_t target : IndirectTargets(program, from)) starts[target] = true;
    }
  }
  block_of_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (starts[i]) blocks_.push_back({.begin = i});
    blocks_.back().end = i + 1;
    block_of_[i] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
}

void Flow::Connect(const Program& program) {
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    FlowBlock& block = blocks_[i];
    const Step& last = program.steps[block.end - 1];
    const bool calls = last.operation == Operation::kCall;
    if (!EndsBlock(last) || MayPass(last) || calls) {
      block.next.push_back(i + 1 < blocks_.size() ? i + 1 : exit());
    }
    if (!EndsBlock(last)) continue;
    block.decides = MayPass(last) || IsIndirect(last.operation);
    if (calls) {
      block.callee = block_of_[last.jump];
    } else if (last.operation == Operation::kBra) {
      block.next.push_back(block_of_[last.jump]);
    } else if (IsIndirect(last.operation)) {
      const std::vector<std::uint32_t> targets = IndirectTargets(program, block.end - 1);
      for (const std::uint32_t target : targets) block.next.push_back(block_of_[target]);
      for (std::uint32_t j = 0; targets.empty() && j < blocks_.size(); ++j) block.next.push_back(j);
    } else {
      block.returns = last.operation == Operation::kRet;
      block.next.push_back(exit());
    }
  }
}

void Flow::Decide(const Decision& decision) {
  FlowBlock& block = blocks_[block_of_[decision.step]];
  const std::uint32_t next = decision.next < block_of_.size() ? block_of_[decision.next] : exit();
  if (std::ranges::find(block.next, next) == block.next.end()) return;  // No way that is there.
  block.next = {next};
  block.decides = false;
}

// Immediate postdominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
void Flow::FindMeetings() {
  const std::size_t count = blocks_.size() + 1;
  std::vector<std::vector<std::uint32_t>> before(count);
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    for (const std::uint32_t next : blocks_[i].next) before[next].push_back(i);
  }
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].joins = before[i].size() + (i == 0 ? 1 : 0) > 1;
  }
  for (const FlowBlock& block : blocks_) {
    // Continues by the call and past it.
    if (block.callee == kNoBlock || !block.decides) continue;
    for (const std::uint32_t next : block.next) {
      if (next != exit()) blocks_[next].joins = true;
    }
  }
  // Postorder of the reversed graph, from the end on.
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> rank(count, kNone);
  std::vector<bool> seen(count, false);
  std::vector<std::pair<std::uint32_t, std::size_t>> path{{exit(), 0}};
  seen[exit()] = true;
  while (!path.empty()) {
    auto& [node, at] = path.back();
    if (at < before[node].size()) {
      const std::uint32_t child = before[node][at++];
      if (!seen[child]) {
        seen[child] = true;
        path.emplace_back(child, 0);
      }
    } else {
      rank[node] = static_cast<std::uint32_t>(order.size());
      order.push_back(node);
      path.pop_back();
    }
  }
  meeting_.assign(count, kNone);
  meeting_[exit()] = exit();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = order.size() - 1; i-- > 0;) {
      const std::uint32_t node = order[i];
      std::uint32_t found = kNone;
      for (std::uint32_t next : blocks_[node].next) {
        if (rank[next] == kNone || meeting_[next] == kNone) continue;
        if (found == kNone) {
          found = next;
          continue;
        }
        while (found != next) {
          while (rank[found] < rank[next]) found = meeting_[found];
          while (rank[next] < rank[found]) next = meeting_[next];
        }
      }
      if (meeting_[node] != found) {
        meeting_[node] = found;
        changed = true;
      }
    }
  }
}

std::vector<std::uint32_t> Flow::Ends() const {
  std::vector<std::uint32_t> ends;
  for (const FlowBlock& block : blocks_) ends.push_back(block.end - 1);
  return ends;
}

std::vector<bool> Flow::PassedBy(std::uint32_t block, std::uint32_t taken) const {
  std::vector<bool> seen(blocks_.size() + 1, false);
  std::vector<bool> result(blocks_.size(), false);
  seen[exit()] = true;
  seen[MeetingOf(block)] = true;
  std::vector<std::uint32_t> others = blocks_[block].next;
  std::erase(others, taken);
  if (blocks_[block].callee != kNoBlock) others.push_back(blocks_[block].callee);
  for (const std::uint32_t one : Reach(others, seen)) result[one] = true;
  return result;
}

std::uint32_t Flow::MeetingOf(std::uint32_t block) const {
  return meeting_[block] == kNone ? exit() : meeting_[block];
}

std::vector<std::uint32_t> Flow::Reach(std::vector<std::uint32_t> open,
                                       std::vector<bool>& seen) const {
  std::vector<std::uint32_t> result;
  while (!open.empty()) {
    const std::uint32_t one = open.back();
    open.pop_back();
    if (seen[one]) continue;
    seen[one] = true;
    result.push_back(one);
    open.insert(open.end(), blocks_[one].next.begin(), blocks_[one].next.end());
    if (blocks_[one].callee != kNoBlock) open.push_back(blocks_[one].callee);
  }
  return result;
}

std::vector<std::uint32_t> Flow::DecidedBy(std::uint32_t block) const {
  std::vector<bool> seen(blocks_.size() + 1, false);
  seen[exit()] = true;
  if (meeting_[block] != kNone) seen[meeting_[block]] = true;
  std::vector<std::uint32_t> result = Reach(blocks_[block].next, seen);
  // The branch itself may be a call under a guard.
  if (blocks_[block].callee != kNoBlock) {
    for (const std::uint32_t one : BodyOf(blocks_[block].callee)) {
      if (!seen[one]) result.push_back(one);
    }
  }
  return result;
}

std::vector<std::uint32_t> Flow::ChosenBy(std::uint32_t block) const {
  if (blocks_[block].callee != kNoBlock || IsInLoop(block)) return DecidedBy(block);
  std::vector<unsigned> ways(blocks_.size(), 0);
  for (const std::uint32_t next : blocks_[block].next) {
    std::vector<bool> seen(blocks_.size() + 1, false);
    seen[exit()] = true;
    seen[MeetingOf(block)] = true;
    for (const std::uint32_t one : Reach({next}, seen)) ++ways[one];
  }
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < ways.size(); ++i) {
    if (ways[i] > 1) result.push_back(i);
  }
  return result;
}

std::vector<std::uint32_t> Flow::BodyOf(std::uint32_t entry) const {
  std::vector<bool> seen(blocks_.size() + 1, false);
  seen[exit()] = true;
  return Reach({entry}, seen);
}

bool Flow::IsInLoop(std::uint32_t block) const {
  std::vector<bool> seen(blocks_.size() + 1, false);
  seen[exit()] = true;
  const std::vector<std::uint32_t> behind = Reach(blocks_[block].next, seen);
  return std::ranges::find(behind, block) != behind.end();
}

}  // namespace eidolon::interpret
