// FlowEngine's solution of everything at once, by water-filling: the slowest link freezes its
// flows, and so on. For many arrivals at one instant, and the reference for tests.
#include <algorithm>

#include "services/base/check.h"
#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

using base::Wide;

constexpr std::uint64_t kOne = std::uint64_t{1} << 31;

std::uint64_t LevelOf(std::uint64_t left, std::uint64_t weight) {
  if ((weight & (kOne - 1)) == 0) return left / (weight >> 31);
  return static_cast<std::uint64_t>((static_cast<Wide>(left) << 31) / weight);
}

}  // namespace

void FlowEngine::Freeze(Slot slot, std::uint32_t hop, std::uint64_t level) {
  Flow& flow = flows_[slot];
  frozen_[slot] = 1;
  if (flow.bound != hop || flow.place == kNone) {
    Loosen(slot);
    flow.bound = hop;
    ++counters_.moves;
  }
  levels_[slot] = level;
  for (std::uint32_t at = 0; at < flow.hops; ++at) {
    if (!Awake(flow, at)) continue;
    const Entry& entry = entries_[flow.first + at];
    const std::uint64_t used = Usage(level, flow.weight, entry.share);
    std::uint64_t& residual = residual_[entry.link];
    residual -= std::min(residual, used);
    rising_[entry.link] -= std::uint64_t{flow.weight} * entry.share;
  }
}

void FlowEngine::FullSolve() {
  ++counters_.full;
  for (const auto& [key, at] : work_) links_[at].queued = false;
  work_.clear();
  const auto links = static_cast<std::uint32_t>(links_.size());
  residual_.resize(links);
  rising_.assign(links, 0);
  frozen_.assign(flows_.size(), 0);
  candidates_.clear();  // Flows with a cap, by cap.
  for (Slot slot = 0; slot < flows_.size(); ++slot) {
    const Flow& flow = flows_[slot];
    if (!flow.live) continue;
    if (flow.cap < kRateMax || flow.hops == 0) candidates_.emplace_back(flow.cap, slot);
    for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
      if (!Awake(flow, hop)) continue;
      const Entry& entry = entries_[flow.first + hop];
      rising_[entry.link] += std::uint64_t{flow.weight} * entry.share;
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
  heap_.clear();
  for (std::uint32_t at = 0; at < links; ++at) {
    Link& link = links_[at];
    residual_[at] = link.capacity;
    if (link.level != kUnbound) Touch(at);
    link.level = kUnbound;
    if (rising_[at] > 0) heap_.emplace_back(LevelOf(residual_[at], rising_[at]), at);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  auto capped = candidates_.begin();
  for (;;) {
    while (capped != candidates_.end() && frozen_[capped->second]) ++capped;
    const std::uint64_t next = heap_.empty() ? kUnbound : heap_.front().first;
    if (capped != candidates_.end() && capped->first <= next) {
      Freeze(capped->second, kNone, capped->first);
      continue;
    }
    if (heap_.empty()) break;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint32_t at = heap_.back().second;
    heap_.pop_back();
    if (rising_[at] == 0) continue;
    const std::uint64_t level = LevelOf(residual_[at], rising_[at]);
    if (level > next) {  // Flows have left it meanwhile.
      heap_.emplace_back(level, at);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      continue;
    }
    Touch(at);
    links_[at].level = level;
    for (const Member& member : links_[at].members) {
      if (frozen_[member.flow] != 0) continue;
      Freeze(member.flow, member.entry - flows_[member.flow].first, level);
    }
  }
  AdoptLevels();
}

// Rebuilds what the links keep of their members.
void FlowEngine::AdoptLevels() {
  for (Link& link : links_) {
    link.foreign = 0;
    link.weight = 0;
    link.peak = 0;
    link.bound = 0;
    link.fractional = 0;
  }
  for (Slot slot = 0; slot < flows_.size(); ++slot) {
    const Flow& flow = flows_[slot];
    if (!flow.live) continue;
    for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
      if (!Awake(flow, hop)) continue;
      const Entry& entry = entries_[flow.first + hop];
      Link& link = links_[entry.link];
      if (hop == flow.bound) {
        link.weight += std::uint64_t{flow.weight} * entry.share;
        if (entry.share != Hop::kWhole) ++link.fractional;
        Swap(link, entry.position, link.bound);
        ++link.bound;
      } else {
        link.foreign += Usage(levels_[slot], flow.weight, entry.share);
        link.peak = std::max(link.peak, levels_[slot]);
      }
    }
  }
}

void FlowEngine::SolveAnew() {
  Settle();
  FullSolve();
  Gather();
}

}  // namespace eidolon::network::flow
