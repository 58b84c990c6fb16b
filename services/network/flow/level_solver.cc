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
  ForAwake(flow, hop, [&](std::uint32_t at) {
    const std::uint64_t level = links_[entries_[flow.first + at].link].level;
    if (level < least) {
      least = level;
      where = at;
    }
  });
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
void FlowEngine::BindMember(std::uint32_t at, const Entry& member, Slot slot) {
  Link& link = links_[at];
  const Flow& flow = flows_[slot];
  link.foreign -= Usage(levels_[slot], flow.weight, member.share);
  link.weight += std::uint64_t{flow.weight} * member.share;
  if (member.share != Hop::kWhole) ++link.fractional;
  Swap(link, member.position, link.bound);
  ++link.bound;
}

void FlowEngine::UnbindMember(std::uint32_t at, const Entry& member, Slot slot) {
  Link& link = links_[at];
  const Flow& flow = flows_[slot];
  link.foreign += Usage(levels_[slot], flow.weight, member.share);
  link.peak = std::max(link.peak, levels_[slot]);
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
    UnbindMember(entry.link, entry, slot);
    Mark(entry.link);
  }
  flow.bound = hop;
  if (hop != kNone) {
    const Entry& entry = entries_[flow.first + hop];
    BindMember(entry.link, entry, slot);
  }
}

// A new flow joins its links as one that takes nothing yet; they find its share.
void FlowEngine::Attach(Slot slot) {
  Flow& flow = flows_[slot];
  levels_[slot] = 0;
  flow.bound = kNone;
  flow.awake = 0;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const std::uint32_t entry = flow.first + hop;
    Link& link = links_[entries_[entry].link];
    entries_[entry].position = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({entry, slot});
    CountIn(slot, hop);
  }
  FindOthers(slot);
}

void FlowEngine::Detach(Slot slot) {
  Flow& flow = flows_[slot];
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const std::uint32_t entry = flow.first + hop;
    const std::uint32_t at = entries_[entry].link;
    Link& link = links_[at];
    if (flow.bound == hop) UnbindMember(at, entries_[entry], slot);
    if (Awake(flow, hop)) {
      link.foreign -= Usage(levels_[slot], flow.weight, entries_[entry].share);
    }
    Swap(link, entries_[entry].position, static_cast<std::uint32_t>(link.members.size() - 1));
    link.members.pop_back();
    CountOut(slot, hop);
    Mark(at);
  }
  flow.bound = kNone;
}

// The flow's rate changes, and with it what its other links have left.
void FlowEngine::SetFlowLevel(Slot slot, std::uint64_t level) {
  Flow& flow = flows_[slot];
  if (levels_[slot] == level) return;
  const std::uint64_t old = levels_[slot];
  const std::uint64_t whole = (level - old) * flow.weight;  // Modulo 2^64, as `foreign` counts.
  levels_[slot] = level;
  const Entry* const entries = entries_.data() + flow.first;
  ForAwake(flow, flow.bound, [&](std::uint32_t hop) {
    const Entry& entry = entries[hop];
    Link& link = links_[entry.link];
    link.foreign += entry.share == Hop::kWhole ? whole
                                               : Usage(level, flow.weight, entry.share) -
                                                     Usage(old, flow.weight, entry.share);
    link.peak = std::max(link.peak, level);
    Mark(entry.link);
  });
}

void FlowEngine::SetLevel(std::uint32_t at, std::uint64_t level) {
  Link& link = links_[at];
  if (link.level != level) {
    Touch(at);
    link.level = level;
  }
  for (std::uint32_t at_member = 0; at_member < link.bound; ++at_member) {
    const Member& member = link.members[at_member];
    if (member.other == kNone) {
      SetFlowLevel(member.flow, level);
      continue;
    }
    std::uint64_t& now = levels_[member.flow];
    if (now == level) continue;
    Link& other = links_[member.other];
    other.foreign += level - now;
    other.peak = std::max(other.peak, level);
    now = level;
    Mark(member.other);
  }
}

// Foreign flows faster than the link can afford become bound to it, the fastest first.
void FlowEngine::Steal(std::uint32_t at) {
  Link& link = links_[at];
  stealable_.clear();
  // Whom it takes leaves the others more than they had, so that who fits now fits then.
  const std::uint64_t fits_all = link.bound == 0 ? 0 : LevelIf(link);
  std::uint64_t peak = 0;
  for (std::size_t member = link.bound; member < link.members.size(); ++member) {
    const Member& foreign = link.members[member];
    const std::uint64_t level = levels_[foreign.flow];
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
    const auto [entry, slot, other] = link.members[member];
    if (other != kNone) {
      const std::uint64_t limit = std::min(links_[other].level, kRateMax);
      if (limit + Slack(limit) >= level) {
        ++member;
        continue;
      }
    }
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
