// Links that FlowEngine need not look at, because they cannot bind. The narrowest neighbour of a
// link on a flow's way limits what the flow brings there; where those of all its members have no
// more capacity together than the link, and each keeps to its own, the link never fills. "Narrower"
// is meant of the capacities at the beginning, so that no two links vouch for each other.
#include <algorithm>

#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {

// Where a link counts the members of a wider one that it limits; null when it has no place left.
FlowEngine::Feed* FlowEngine::FeedOf(std::uint32_t feeder, std::uint32_t link) {
  for (Feed& feed : links_[feeder].feeds) {
    if (feed.link == kNone) feed.link = link;
    if (feed.link == link) return &feed;
  }
  return nullptr;
}

// The link that limits what the flow brings to its hop's link; kNone when nothing vouches for it.
// It answers the same when the flow comes and when it goes.
std::uint32_t FlowEngine::FeederOf(const Flow& flow, std::uint32_t hop) {
  if (hop >= kMasked) return kNone;
  const Entry& entry = entries_[flow.first + hop];
  std::uint32_t feeder = entry.link;
  const auto consider = [&](const Entry& there) {
    const bool narrower = links_[there.link].built < links_[feeder].built;
    if (narrower && there.share >= entry.share) feeder = there.link;
  };
  if (hop > 0) consider(entries_[flow.first + hop - 1]);
  if (hop + 1 < flow.hops) consider(entries_[flow.first + hop + 1]);
  if (feeder == entry.link || FeedOf(feeder, entry.link) == nullptr) return kNone;
  return feeder;
}

// A new member. Requires: it is the last one. Links that are awake count nothing.
void FlowEngine::CountIn(Slot slot, std::uint32_t hop) {
  Flow& flow = flows_[slot];
  const std::uint32_t at = entries_[flow.first + hop].link;
  Link& link = links_[at];
  if (!link.asleep) {
    if (hop < kMasked) flow.awake |= static_cast<std::uint16_t>(1u << hop);
    return;
  }
  const std::uint32_t feeder = FeederOf(flow, hop);
  if (feeder == kNone) {
    link.unfed = true;
  } else if (FeedOf(feeder, at)->members++ == 0) {
    link.fed += links_[feeder].capacity;
  }
  WakeIfShort(at);
}

// A link that nobody uses any more sleeps again, so that none goes to and fro; unless nothing
// vouched for a flow of its own, since the next will be like it.
void FlowEngine::CountOut(Slot slot, std::uint32_t hop) {
  const Flow& flow = flows_[slot];
  const std::uint32_t at = entries_[flow.first + hop].link;
  Link& link = links_[at];
  if (!link.asleep) {
    link.asleep = link.members.empty() && !link.unfed;
    return;
  }
  const std::uint32_t feeder = FeederOf(flow, hop);
  if (--FeedOf(feeder, at)->members == 0) link.fed -= links_[feeder].capacity;
}

// After a change of which of the flow's links are awake.
void FlowEngine::FindOthers(Slot slot) {
  const Flow& flow = flows_[slot];
  if (flow.hops > kMasked || flow.weight != 1 || flow.cap != kRateMax) return;  // Never plain.
  bool plain = std::popcount(flow.awake) == 2;
  ForAwake(flow, kNone, [&](std::uint32_t hop) {
    plain = plain && entries_[flow.first + hop].share == Hop::kWhole;
  });
  ForAwake(flow, kNone, [&](std::uint32_t hop) {
    const Entry& entry = entries_[flow.first + hop];
    std::uint32_t other = kNone;
    if (plain) {
      ForAwake(flow, hop, [&](std::uint32_t at) { other = entries_[flow.first + at].link; });
    }
    links_[entry.link].members[entry.position].other = other;
  });
}

void FlowEngine::WakeIfShort(std::uint32_t at) {
  Link& link = links_[at];
  if (!link.asleep || (!link.unfed && link.fed <= link.capacity)) return;
  link.asleep = false;
  link.fed = 0;
  link.foreign = 0;
  link.peak = 0;
  for (const Member& member : link.members) {
    Flow& flow = flows_[member.flow];
    const std::uint32_t hop = member.entry - flow.first;
    const std::uint32_t feeder = FeederOf(flow, hop);
    if (feeder != kNone) FeedOf(feeder, at)->members = 0;
    if (hop < kMasked) flow.awake |= static_cast<std::uint16_t>(1u << hop);
    link.foreign += Usage(levels_[member.flow], flow.weight, entries_[member.entry].share);
    link.peak = std::max(link.peak, levels_[member.flow]);
    FindOthers(member.flow);
  }
  Mark(at);
}

// The link's capacity was another before.
void FlowEngine::Refeed(std::uint32_t at, std::uint64_t before) {
  for (const Feed& feed : links_[at].feeds) {
    if (feed.members == 0) continue;
    Link& fed = links_[feed.link];
    fed.fed += links_[at].capacity - before;
    WakeIfShort(feed.link);
  }
  WakeIfShort(at);
}

}  // namespace eidolon::network::flow
