// An arrival or an end changes few links of a cluster, so a solution from nothing wastes nearly all
// of its work. Process brings one link up to date: it takes foreign flows that are too fast for it
// (Steal), releases bound flows that something else holds lower (LetGo), and gives the rest one
// level. Each changed level marks the flow's other links, and the agenda hands out the slowest link
// first. Slack keeps rounding from passing one flow to and fro between two links. The budget of
// Propagate bounds what remains of that, and its caller then solves everything anew.
#include "services/network/flow/level_solver.h"

#include <algorithm>

namespace eidolon::network::flow {
namespace {

using base::Wide;

static_assert(FlowTable::kNone == FinishOrder::kAlone,
              "a flow at its cap is alone in the order of ends");

// By so much levels may differ that count as equal.
constexpr std::uint64_t Slack(std::uint64_t level) { return 8 + (level >> 40); }

}  // namespace

// The level that the flow's cap and its other links allow, and which of them is the tightest.
std::uint64_t LevelSolver::LimitElsewhere(Slot slot, std::uint32_t hop,
                                          std::uint32_t& where) const {
  const FlowTable& table = table_;
  const FlowTable::Flow& flow = table.flow(slot);
  const FlowTable::Entry* const entries = table.EntriesOf(flow);
  std::uint64_t least = flow.cap;
  where = FlowTable::kNone;
  FlowTable::ForAwake(flow, hop, [&](std::uint32_t at) {
    const std::uint64_t level = table.link(entries[at].link).level;
    if (level < least) {
      least = level;
      where = at;
    }
  });
  return least;
}

void LevelSolver::Unseat(Slot slot) {
  holds_.Leave(slot, table_.BoundLink(slot), order_.now());
  const std::uint32_t emptied = table_.Unbind(slot);
  if (emptied != FlowTable::kNone) order_.Touch(emptied);
}

// Binds the flow to another hop (FlowTable::kNone: to its cap).
void LevelSolver::Rebind(Slot slot, std::uint32_t hop) {
  ++counters_.moves;
  const std::uint32_t before = table_.BoundLink(slot);
  order_.Loosen(slot, {.group = before, .level = table_.level(slot)});
  if (before != FlowTable::kNone) {
    Unseat(slot);
    agenda_.Mark(before);
  }
  if (hop == FlowTable::kNone) return;
  if (before == FlowTable::kNone) holds_.Enter(slot, order_.now());
  table_.Bind(slot, hop);
}

// The flow's rate changes, and with it what its other links have left.
void LevelSolver::SetFlowLevel(Slot slot, std::uint64_t level) {
  FlowTable& table = table_;
  const std::uint64_t old = table.level(slot);
  if (old == level) return;
  const FlowTable::Flow& flow = table.flow(slot);
  const std::uint32_t weight = flow.weight;
  const std::uint64_t whole = (level - old) * weight;  // Modulo 2^64, as `foreign` counts.
  table.level(slot) = level;
  const FlowTable::Entry* const entries = table.EntriesOf(flow);
  LinkAgenda& agenda = agenda_;
  FlowTable::ForAwake(flow, flow.bound, [&](std::uint32_t hop) {
    const FlowTable::Entry& entry = entries[hop];
    FlowTable::Link& link = table.link(entry.link);
    link.foreign += entry.share == Hop::kWhole ? whole
                                               : FlowTable::Usage(level, weight, entry.share) -
                                                     FlowTable::Usage(old, weight, entry.share);
    link.peak = std::max(link.peak, level);
    agenda.Mark(entry.link, link);
  });
}

// All flows bound to the link get the level. `other` names the only other awake link of a plain
// flow, which spares a look at its entries.
void LevelSolver::SetLevel(std::uint32_t at, std::uint64_t level) {
  FlowTable& table = table_;
  LinkAgenda& agenda = agenda_;
  FlowTable::Link& link = table.link(at);
  if (link.level != level) {
    order_.Touch(at);
    link.level = level;
  }
  const FlowTable::Member* const members = link.members.data();
  const std::uint32_t bound = link.bound;
  for (std::uint32_t at_member = 0; at_member < bound; ++at_member) {
    const FlowTable::Member& member = members[at_member];
    if (member.other == FlowTable::kNone) {
      SetFlowLevel(member.flow, level);
      continue;
    }
    std::uint64_t& now = table.level(member.flow);
    if (now == level) continue;
    FlowTable::Link& other = table.link(member.other);
    other.foreign += level - now;
    other.peak = std::max(other.peak, level);
    now = level;
    agenda.Mark(member.other, other);
  }
}

// Foreign flows faster than the link can afford become bound to it, the fastest first.
void LevelSolver::Steal(std::uint32_t at) {
  FlowTable::Link& link = table_.link(at);
  const std::vector<FlowTable::Member>& members = link.members;
  stealable_.clear();
  // Whom it takes leaves the others more than they had, so that who fits now fits then.
  const std::uint64_t fits_all = link.bound == 0 ? 0 : link.LevelIfShared();
  std::uint64_t peak = 0;
  for (std::size_t member = link.bound; member < members.size(); ++member) {
    const FlowTable::Member& foreign = members[member];
    const std::uint64_t level = table_.level(foreign.flow);
    if (level > fits_all) {
      stealable_.push_back({level, foreign});
    } else {
      peak = std::max(peak, level);
    }
  }
  std::make_heap(stealable_.begin(), stealable_.end());
  link.peak = peak;
  while (!stealable_.empty()) {
    const auto [level, member] = stealable_.front();
    const bool fits = link.bound == 0 ? link.foreign <= link.capacity
                                      : level <= link.LevelIfShared() + Slack(level);
    if (fits) {
      link.peak = level;
      return;
    }
    std::pop_heap(stealable_.begin(), stealable_.end());
    stealable_.pop_back();
    Rebind(member.flow, member.entry - table_.flow(member.flow).first);
  }
}

// Bound flows that something else holds below `level` go there. True when there were any.
bool LevelSolver::LetGo(std::uint32_t at, std::uint64_t level) {
  FlowTable::Link& link = table_.link(at);
  bool any = false;
  for (std::uint32_t member = 0; member < link.bound;) {
    const auto [entry, slot, other] = link.members[member];
    if (other != FlowTable::kNone) {
      const std::uint64_t limit = std::min(table_.link(other).level, kRateMax);
      if (limit + Slack(limit) >= level) {
        ++member;
        continue;
      }
    }
    const FlowTable::Flow& flow = table_.flow(slot);
    std::uint32_t where = FlowTable::kNone;
    const std::uint64_t limit = LimitElsewhere(slot, entry - flow.first, where);
    if (limit + Slack(limit) >= level) {
      ++member;
      continue;
    }
    any = true;
    Rebind(slot, where);  // Another member takes its position.
    SetFlowLevel(slot, limit);
    if (where != FlowTable::kNone) agenda_.Mark(table_.EntryOf(flow, where).link);
  }
  return any;
}

// A link takes flows that are too fast for it, then releases those that something else holds lower.
// Each changes what the rest can afford, so the two alternate until nothing is released.
void LevelSolver::Process(std::uint32_t at) {
  ++counters_.links;
  FlowTable::Link& link = table_.link(at);
  for (;;) {
    if (link.bound == 0) {
      if (link.foreign <= link.capacity) return;
      Steal(at);
      if (link.bound == 0) return;
    }
    const std::uint64_t level = link.LevelIfShared();
    if (link.peak > level + Slack(level)) Steal(at);
    const std::uint64_t affordable = link.LevelIfShared();
    // A level that falls holds its flows all the more, and links that hold one lower still take it
    // themselves.
    const bool holds = affordable <= link.level && !link.fresh;
    if (holds || !LetGo(at, affordable)) {
      link.fresh = false;
      SetLevel(at, affordable);
      return;
    }
  }
}

void LevelSolver::Seat(Slot slot) {
  const FlowTable::Flow& flow = table_.flow(slot);
  const std::uint64_t cap = flow.cap;
  std::uint64_t least = cap;
  std::uint32_t where = FlowTable::kNone;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    if (!FlowTable::Awake(flow, hop)) continue;
    const FlowTable::Entry& entry = table_.EntryOf(flow, hop);
    const FlowTable::Link& link = table_.link(entry.link);
    const std::uint64_t left = link.capacity > link.foreign ? link.capacity - link.foreign : 0;
    // A link with room for all that the flow can ask needs no division.
    if (link.bound == 0 && cap < kRateMax &&
        FlowTable::Usage(cap, flow.weight, entry.share) <= left) {
      continue;
    }
    const std::uint64_t weight = link.weight + std::uint64_t{flow.weight} * entry.share;
    const bool whole = link.fractional == 0 && entry.share == Hop::kWhole;
    const std::uint64_t level =
        whole ? left / (weight >> 31)
              : static_cast<std::uint64_t>((static_cast<Wide>(left) << 31) / weight);
    if (level < least) {
      least = level;
      where = hop;
    }
  }
  Rebind(slot, where);
  SetFlowLevel(slot, least);
  if (where == FlowTable::kNone) return;
  const std::uint32_t at = table_.EntryOf(flow, where).link;
  FlowTable::Link& link = table_.link(at);
  link.fresh = true;
  agenda_.Mark(at, link);
}

bool LevelSolver::Propagate() {
  std::uint64_t budget = 64 + 16 * std::uint64_t{table_.LinkCount()};
  while (!agenda_.Empty()) {
    if (budget-- == 0) return false;
    Process(agenda_.Take());
  }
  return true;
}

}  // namespace eidolon::network::flow
