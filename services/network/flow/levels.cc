// The shares of FlowEngine: bringing levels up to date after a change, slowest links first.
#include <algorithm>

#include "services/base/check.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {

using base::Wide;

std::uint64_t FlowEngine::Usage(std::uint64_t level, std::uint32_t weight, std::uint32_t share) {
  const std::uint64_t rate = level * weight;
  if (share == Hop::kWhole) return rate;
  return static_cast<std::uint64_t>(static_cast<Wide>(rate) * share >> 31);
}

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

// The link's inputs changed: look at it again if that can matter.
void FlowEngine::Mark(std::uint32_t at) {
  Link& link = links_[at];
  if (link.queued) return;
  std::uint64_t key = link.level;
  if (link.bound > 0) {
    key = std::min(key, LevelIf(link));
  } else if (link.foreign > link.capacity) {
    key = link.capacity / link.members.size();
  } else {
    return;
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
  entries_[link.members[a]].position = a;
  entries_[link.members[b]].position = b;
}

// A foreign member becomes a bound one. The flow's level stays what it was.
void FlowEngine::BindMember(std::uint32_t at, std::uint32_t entry) {
  Link& link = links_[at];
  const Entry& member = entries_[entry];
  const Flow& flow = flows_[member.flow];
  link.foreign -= Usage(flow.level, flow.weight, member.share);
  link.weight += std::uint64_t{flow.weight} * member.share;
  if (member.share != Hop::kWhole) ++link.fractional;
  Swap(link, member.position, link.bound);
  ++link.bound;
}

void FlowEngine::UnbindMember(std::uint32_t at, std::uint32_t entry) {
  Link& link = links_[at];
  const Entry& member = entries_[entry];
  const Flow& flow = flows_[member.flow];
  link.foreign += Usage(flow.level, flow.weight, member.share);
  link.peak = std::max(link.peak, flow.level);
  link.weight -= std::uint64_t{flow.weight} * member.share;
  if (member.share != Hop::kWhole) --link.fractional;
  --link.bound;
  Swap(link, member.position, link.bound);
  if (link.bound == 0) {
    Touch(at);
    link.level = kUnbound;
  }
}

// Binds the flow to another hop (kNone: to its cap).
void FlowEngine::Rebind(Slot slot, std::uint32_t hop) {
  Flow& flow = flows_[slot];
  ++counters_.moves;
  Loosen(slot);
  if (flow.bound != kNone) {
    const std::uint32_t entry = flow.first + flow.bound;
    const std::uint32_t link = entries_[entry].link;
    UnbindMember(link, entry);
    Mark(link);
  }
  flow.bound = hop;
  if (hop != kNone) {
    const std::uint32_t entry = flow.first + hop;
    BindMember(entries_[entry].link, entry);
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
    link.members.push_back(entry);
  }
}

void FlowEngine::Detach(Slot slot) {
  Flow& flow = flows_[slot];
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const std::uint32_t entry = flow.first + hop;
    const std::uint32_t at = entries_[entry].link;
    Link& link = links_[at];
    if (flow.bound == hop) UnbindMember(at, entry);
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
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    if (hop == flow.bound) continue;
    const Entry& entry = entries_[flow.first + hop];
    Link& link = links_[entry.link];
    link.foreign +=
        Usage(level, flow.weight, entry.share) - Usage(flow.level, flow.weight, entry.share);
    link.peak = std::max(link.peak, level);
    Mark(entry.link);
  }
  flow.level = level;
}

void FlowEngine::SetLevel(std::uint32_t at, std::uint64_t level) {
  Link& link = links_[at];
  if (link.level != level) {
    Touch(at);
    link.level = level;
  }
  for (std::uint32_t member = 0; member < link.bound; ++member) {
    SetFlowLevel(entries_[link.members[member]].flow, level);
  }
}

// Foreign flows faster than the link can afford become bound to it, the fastest first.
void FlowEngine::Steal(std::uint32_t at) {
  Link& link = links_[at];
  candidates_.clear();
  for (std::size_t member = link.bound; member < link.members.size(); ++member) {
    const std::uint32_t entry = link.members[member];
    candidates_.emplace_back(flows_[entries_[entry].flow].level, entry);
  }
  std::make_heap(candidates_.begin(), candidates_.end());
  link.peak = 0;
  while (!candidates_.empty()) {
    const auto [level, entry] = candidates_.front();
    const bool fits =
        link.bound == 0 ? link.foreign <= link.capacity : level <= LevelIf(link) + Slack(level);
    if (fits) {
      link.peak = level;
      return;
    }
    std::pop_heap(candidates_.begin(), candidates_.end());
    candidates_.pop_back();
    const Slot slot = entries_[entry].flow;
    Rebind(slot, entry - flows_[slot].first);
  }
}

// Bound flows that something else holds below `level` go there. True when there were any.
bool FlowEngine::LetGo(std::uint32_t at, std::uint64_t level) {
  Link& link = links_[at];
  bool any = false;
  for (std::uint32_t member = 0; member < link.bound;) {
    const std::uint32_t entry = link.members[member];
    const Slot slot = entries_[entry].flow;
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
    if (!LetGo(at, affordable)) {
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
