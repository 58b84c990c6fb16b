// The shares of FlowEngine: bringing levels up to date after a change, slowest links first.
#include <algorithm>

#include "services/base/check.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {

using base::Wide;

// What the flows bound to the link would get each.
std::uint64_t FlowEngine::LevelIf(const Link& link) const {
  if (link.foreign >= link.capacity) return 0;
  const std::uint64_t left = link.capacity - link.foreign;
  if (link.fractional == 0) return left / (link.weight >> 31);
  const Wide level = (static_cast<Wide>(left) << 31) / link.weight;
  return static_cast<std::uint64_t>(std::min<Wide>(level, kRateMax));
}

// The level that the flow's cap and its other links allow, and which of them is the tightest.
std::uint64_t FlowEngine::LimitElsewhere(const Flow& flow, std::uint32_t hop,
                                         std::uint32_t& where) const {
  std::uint64_t least = flow.cap;
  where = kNone;
  for (std::uint32_t at = 0; at < flow.hops; ++at) {
    if (at == hop) continue;
    const std::uint64_t level = links_[entries_[flow.first + at].link].level;
    if (level < least) {
      least = level;
      where = at;
    }
  }
  return least;
}

// Requires: the link is not queued, and binds flows or carries too much.
void FlowEngine::Enqueue(std::uint32_t at) {
  Link& link = links_[at];
  // The level it had is a good enough guess of its place in the order, without a division.
  std::uint64_t key = link.level;
  if (link.bound > 0) {
    if (key == kUnbound) key = LevelIf(link);
  } else {
    key = link.capacity / link.members.size();
  }
  link.queued = true;
  work_.emplace_back(key, at);
  std::push_heap(work_.begin(), work_.end(), std::greater<>());
}

// The link's level is about to change, or has changed: its group is brought up to date first.
void FlowEngine::Touch(std::uint32_t at) {
  Link& link = links_[at];
  if (link.touched) return;
  link.touched = true;
  touched_.push_back(at);
}

void FlowEngine::Swap(Link& link, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  std::swap(link.members[a], link.members[b]);
  entries_[link.members[a].entry].position = a;
  entries_[link.members[b].entry].position = b;
}

// A foreign member becomes a bound one. The flow's level stays what it was.
void FlowEngine::BindMember(std::uint32_t at, const Entry& member, const Flow& flow) {
  Link& link = links_[at];
  link.foreign -= Usage(flow.level, flow.weight, member.share);
  link.weight += std::uint64_t{flow.weight} * member.share;
  if (member.share != Hop::kWhole) ++link.fractional;
  Swap(link, member.position, link.bound);
  ++link.bound;
}

void FlowEngine::UnbindMember(std::uint32_t at, const Entry& member, const Flow& flow) {
  Link& link = links_[at];
  link.foreign += Usage(flow.level, flow.weight, member.share);
  link.peak = std::max(link.peak, flow.level);
  link.weight -= std::uint64_t{flow.weight} * member.share;
  if (member.share != Hop::kWhole) --link.fractional;
  --link.bound;
  Swap(link, member.position, link.bound);
  if (link.bound == 0) {
    Touch(at);
    link.level = kUnbound;
    link.fresh = false;
  }
}

// Binds the flow to another hop (kNone: to its cap).
void FlowEngine::Rebind(Slot slot, std::uint32_t hop) {
  Flow& flow = flows_[slot];
  ++counters_.moves;
  Loosen(slot);
  if (flow.bound != kNone) {
    const Entry& entry = entries_[flow.first + flow.bound];
    UnbindMember(entry.link, entry, flow);
    Mark(entry.link);
  }
  flow.bound = hop;
  if (hop != kNone) {
    const Entry& entry = entries_[flow.first + hop];
    BindMember(entry.link, entry, flow);
  }
}

// A new flow joins its links as one that takes nothing yet; they find its share.
void FlowEngine::Attach(Slot slot) {
  Flow& flow = flows_[slot];
  flow.level = 0;
  flow.bound = kNone;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const std::uint32_t entry = flow.first + hop;
    Link& link = links_[entries_[entry].link];
    entries_[entry].position = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({entry, slot});
  }
}

void FlowEngine::Detach(Slot slot) {
  Flow& flow = flows_[slot];
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const std::uint32_t entry = flow.first + hop;
    const std::uint32_t at = entries_[entry].link;
    Link& link = links_[at];
    if (flow.bound == hop) UnbindMember(at, entries_[entry], flow);
    link.foreign -= Usage(flow.level, flow.weight, entries_[entry].share);
    Swap(link, entries_[entry].position, static_cast<std::uint32_t>(link.members.size() - 1));
    link.members.pop_back();
    Mark(at);
  }
  flow.bound = kNone;
}

// The flow's rate changes, and with it what its other links have left.
void FlowEngine::SetFlowLevel(Slot slot, std::uint64_t level) {
  Flow& flow = flows_[slot];
  if (flow.level == level) return;
  const std::uint64_t old = flow.level;
  const std::uint64_t whole = (level - old) * flow.weight;  // Modulo 2^64, as `foreign` counts.
  flow.level = level;
  const Entry* const entries = entries_.data() + flow.first;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    if (hop == flow.bound) continue;
    const Entry& entry = entries[hop];
    Link& link = links_[entry.link];
    link.foreign += entry.share == Hop::kWhole ? whole
                                               : Usage(level, flow.weight, entry.share) -
                                                     Usage(old, flow.weight, entry.share);
    link.peak = std::max(link.peak, level);
    Mark(entry.link);
  }
}

void FlowEngine::SetLevel(std::uint32_t at, std::uint64_t level) {
  Link& link = links_[at];
  if (link.level != level) {
    Touch(at);
    link.level = level;
  }
  for (std::uint32_t member = 0; member < link.bound; ++member) {
    SetFlowLevel(link.members[member].flow, level);
  }
}

// Foreign flows faster than the link can afford become bound to it, the fastest first.
void FlowEngine::Steal(std::uint32_t at) {
  Link& link = links_[at];
  stealable_.clear();
  for (std::size_t member = link.bound; member < link.members.size(); ++member) {
    const Member& foreign = link.members[member];
    stealable_.push_back({flows_[foreign.flow].level, foreign});
  }
  std::make_heap(stealable_.begin(), stealable_.end());
  link.peak = 0;
  while (!stealable_.empty()) {
    const auto [level, member] = stealable_.front();
    const bool fits =
        link.bound == 0 ? link.foreign <= link.capacity : level <= LevelIf(link) + Slack(level);
    if (fits) {
      link.peak = level;
      return;
    }
    std::pop_heap(stealable_.begin(), stealable_.end());
    stealable_.pop_back();
    Rebind(member.flow, member.entry - flows_[member.flow].first);
  }
}

// Bound flows that something else holds below `level` go there. True when there were any.
bool FlowEngine::LetGo(std::uint32_t at, std::uint64_t level) {
  Link& link = links_[at];
  bool any = false;
  for (std::uint32_t member = 0; member < link.bound;) {
    const auto [entry, slot] = link.members[member];
    std::uint32_t where = kNone;
    const std::uint64_t limit = LimitElsewhere(flows_[slot], entry - flows_[slot].first, where);
    if (limit + Slack(limit) >= level) {
      ++member;
      continue;
    }
    any = true;
    Rebind(slot, where);  // Another member takes its position.
    SetFlowLevel(slot, limit);
    if (where != kNone) Mark(entries_[flows_[slot].first + where].link);
  }
  return any;
}

void FlowEngine::Process(std::uint32_t at) {
  ++counters_.links;
  Link& link = links_[at];
  for (;;) {
    if (link.bound == 0) {
      if (link.foreign <= link.capacity) return;
      Steal(at);
      if (link.bound == 0) return;
    }
    const std::uint64_t level = LevelIf(link);
    if (link.peak > level + Slack(level)) Steal(at);
    const std::uint64_t affordable = LevelIf(link);
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

// False when it does not come to an end soon enough; the state is then to be solved anew.
bool FlowEngine::Propagate() {
  std::uint64_t budget = 64 + 16 * links_.size();
  while (!work_.empty()) {
    if (budget-- == 0) return false;
    std::pop_heap(work_.begin(), work_.end(), std::greater<>());
    const std::uint32_t at = work_.back().second;
    work_.pop_back();
    links_[at].queued = false;
    Process(at);
  }
  return true;
}

}  // namespace eidolon::network::flow
