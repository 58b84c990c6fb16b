// This is progressive filling for max-min fair shares (Bertsekas and Gallager, Data Networks): the
// link with the lowest level freezes its flows, and the others share what is left. Levels only rise
// while flows freeze, so an entry of the heap is a lower bound. FreezeLink computes the level again
// when an entry comes up and puts it back if it has risen, which spares a search for the entry at
// each change. Flows with a cap lie in a second, sorted list and freeze when the water reaches
// them.
#include "services/network/flow/full_solver.h"

#include <algorithm>
#include <functional>

namespace eidolon::network::flow {
namespace {

using base::Wide;

constexpr std::uint64_t kOne = std::uint64_t{1} << 31;
constexpr std::uint64_t kUnbound = FlowTable::kUnbound;

std::uint64_t LevelOf(std::uint64_t left, std::uint64_t weight) {
  if ((weight & (kOne - 1)) == 0) return left / (weight >> 31);
  return static_cast<std::uint64_t>((static_cast<Wide>(left) << 31) / weight);
}

}  // namespace

void FullSolver::Freeze(Slot slot, std::uint32_t hop, std::uint64_t level) {
  FlowTable::Flow& flow = table_.flow(slot);
  frozen_[slot] = 1;
  if (flow.bound != hop || order_.IsLoose(slot)) {
    const std::uint32_t before = table_.BoundLink(slot);
    order_.Loosen(slot, {.group = before, .level = table_.level(slot)});
    if (before != FlowTable::kNone) {
      holds_.Leave(slot, before, order_.now());
    } else if (hop != FlowTable::kNone) {
      holds_.Enter(slot, order_.now());
    }
    flow.bound = hop;
    ++moves_;
  }
  table_.level(slot) = level;
  for (std::uint32_t at = 0; at < flow.hops; ++at) {
    if (!FlowTable::Awake(flow, at)) continue;
    const FlowTable::Entry& entry = table_.EntryOf(flow, at);
    const std::uint64_t used = FlowTable::Usage(level, flow.weight, entry.share);
    std::uint64_t& residual = residual_[entry.link];
    residual -= std::min(residual, used);
    rising_[entry.link] -= std::uint64_t{flow.weight} * entry.share;
  }
}

// Counts the load that rises on each link while nothing is frozen, and finds the flows that have a
// cap.
void FullSolver::CountRising() {
  rising_.assign(table_.LinkCount(), 0);
  frozen_.assign(table_.SlotCount(), 0);
  capped_.clear();
  for (Slot slot = 0; slot < table_.SlotCount(); ++slot) {
    const FlowTable::Flow& flow = table_.flow(slot);
    if (!flow.live) continue;
    const std::uint64_t cap = flow.cap;
    if (cap < kRateMax || flow.hops == 0) capped_.emplace_back(cap, slot);
    for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
      if (!FlowTable::Awake(flow, hop)) continue;
      const FlowTable::Entry& entry = table_.EntryOf(flow, hop);
      rising_[entry.link] += std::uint64_t{flow.weight} * entry.share;
    }
  }
  std::sort(capped_.begin(), capped_.end());
}

void FullSolver::OpenLinks() {
  const std::uint32_t links = table_.LinkCount();
  residual_.resize(links);
  links_.clear();
  for (std::uint32_t at = 0; at < links; ++at) {
    FlowTable::Link& link = table_.link(at);
    residual_[at] = link.capacity;
    if (link.level != kUnbound) order_.Touch(at);
    link.level = kUnbound;
    if (rising_[at] > 0) links_.emplace_back(LevelOf(residual_[at], rising_[at]), at);
  }
  std::make_heap(links_.begin(), links_.end(), std::greater<>());
}

// The first link freezes those of its flows that still rise. It is put off when flows have left it
// since its level was computed.
void FullSolver::FreezeLink(std::uint64_t next) {
  std::pop_heap(links_.begin(), links_.end(), std::greater<>());
  const std::uint32_t at = links_.back().second;
  links_.pop_back();
  if (rising_[at] == 0) return;
  const std::uint64_t level = LevelOf(residual_[at], rising_[at]);
  if (level > next) {
    links_.emplace_back(level, at);
    std::push_heap(links_.begin(), links_.end(), std::greater<>());
    return;
  }
  order_.Touch(at);
  table_.link(at).level = level;
  for (const FlowTable::Member& member : table_.link(at).members) {
    if (frozen_[member.flow] != 0) continue;
    Freeze(member.flow, member.entry - table_.flow(member.flow).first, level);
  }
}

void FullSolver::Solve() {
  agenda_.Clear();
  CountRising();
  OpenLinks();
  auto capped = capped_.begin();
  for (;;) {
    while (capped != capped_.end() && frozen_[capped->second]) ++capped;
    const std::uint64_t next = links_.empty() ? kUnbound : links_.front().first;
    if (capped != capped_.end() && capped->first <= next) {
      Freeze(capped->second, FlowTable::kNone, capped->first);
      continue;
    }
    if (links_.empty()) break;
    FreezeLink(next);
  }
  table_.CountAll();
}

}  // namespace eidolon::network::flow
