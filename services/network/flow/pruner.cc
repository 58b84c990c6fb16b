// The solvers look only at links that are awake, so each link that provably cannot fill saves work
// at every event. The proof of a sleeping link is a sum: the capacities of the narrower links that
// feed it, each counted once however many flows it brings. A flow must be counted out at the same
// feeder where it was counted in, hence "narrower" refers to the capacities at the start, and a
// feed is never given to another link. A link that finds no free feed at its narrower neighbour
// wakes up: that costs time and never a wrong share.
#include "services/network/flow/pruner.h"

#include <algorithm>
#include <bit>

namespace eidolon::network::flow {
namespace {

constexpr std::uint32_t kMasked = FlowTable::kMasked;

void SetAwake(FlowTable::Flow& flow, std::uint32_t hop) {
  if (hop < kMasked) flow.awake |= static_cast<std::uint16_t>(1u << hop);
}

}  // namespace

// Returns where a link counts the members of a wider one that it limits; null when it has no place
// left.
Pruner::Feed* Pruner::FeedOf(std::uint32_t feeder, std::uint32_t link) {
  for (Feed& feed : table_.link(feeder).feeding.feeds) {
    if (feed.link == FlowTable::kNone) feed.link = link;
    if (feed.link == link) return &feed;
  }
  return nullptr;
}

// The link that limits what the flow brings to its hop's link; FlowTable::kNone when nothing
// vouches for it. It answers the same when the flow comes and when it goes.
std::uint32_t Pruner::FeederOf(const FlowTable::Flow& flow, std::uint32_t hop) {
  if (hop >= kMasked) return FlowTable::kNone;
  const FlowTable::Entry& entry = table_.EntryOf(flow, hop);
  std::uint32_t feeder = entry.link;
  const auto consider = [&](const FlowTable::Entry& there) {
    const bool narrower = BuiltOf(there.link) < BuiltOf(feeder);
    if (narrower && there.share >= entry.share) feeder = there.link;
  };
  if (hop > 0) consider(table_.EntryOf(flow, hop - 1));
  if (hop + 1 < flow.hops) consider(table_.EntryOf(flow, hop + 1));
  if (feeder == entry.link || FeedOf(feeder, entry.link) == nullptr) return FlowTable::kNone;
  return feeder;
}

// A new member. Links that are awake count nothing.
void Pruner::CountIn(FlowTable::Flow& flow, std::uint32_t hop) {
  const std::uint32_t at = table_.EntryOf(flow, hop).link;
  FlowTable::Link& link = table_.link(at);
  if (!link.asleep) {
    SetAwake(flow, hop);
    return;
  }
  const std::uint32_t feeder = FeederOf(flow, hop);
  if (feeder == FlowTable::kNone) {
    link.feeding.unfed = true;
  } else if (FeedOf(feeder, at)->members++ == 0) {
    link.feeding.fed += table_.link(feeder).capacity;
  }
  WakeIfShort(at);
}

// A link that nobody uses any more sleeps again, so that none goes to and fro; unless nothing
// vouched for a flow of its own, since the next will be like it.
void Pruner::CountOut(const FlowTable::Flow& flow, std::uint32_t hop) {
  const std::uint32_t at = table_.EntryOf(flow, hop).link;
  FlowTable::Link& link = table_.link(at);
  if (!link.asleep) {
    link.asleep = link.members.empty() && !link.feeding.unfed;
    return;
  }
  const std::uint32_t feeder = FeederOf(flow, hop);
  if (--FeedOf(feeder, at)->members == 0) link.feeding.fed -= table_.link(feeder).capacity;
}

void Pruner::Join(Slot slot) {
  FlowTable::Flow& flow = table_.flow(slot);
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) CountIn(flow, hop);
  FindOthers(slot);
}

void Pruner::Leave(Slot slot) {
  const FlowTable::Flow& flow = table_.flow(slot);
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) CountOut(flow, hop);
}

// Called after a change of which of the flow's links are awake.
void Pruner::FindOthers(Slot slot) {
  const FlowTable::Flow& flow = table_.flow(slot);
  // Never plain.
  if (flow.hops > kMasked || flow.weight != 1 || flow.cap != kRateMax) return;
  bool plain = std::popcount(flow.awake) == 2;
  FlowTable::ForAwake(flow, FlowTable::kNone, [&](std::uint32_t hop) {
    plain = plain && table_.EntryOf(flow, hop).share == Hop::kWhole;
  });
  FlowTable::ForAwake(flow, FlowTable::kNone, [&](std::uint32_t hop) {
    const FlowTable::Entry& entry = table_.EntryOf(flow, hop);
    std::uint32_t other = FlowTable::kNone;
    if (plain) {
      FlowTable::ForAwake(flow, hop,
                          [&](std::uint32_t at) { other = table_.EntryOf(flow, at).link; });
    }
    table_.link(entry.link).members[entry.position].other = other;
  });
}

void Pruner::WakeIfShort(std::uint32_t at) {
  FlowTable::Link& link = table_.link(at);
  if (!link.asleep || (!link.feeding.unfed && link.feeding.fed <= link.capacity)) return;
  link.asleep = false;
  link.feeding.fed = 0;
  for (const FlowTable::Member& member : link.members) {
    FlowTable::Flow& flow = table_.flow(member.flow);
    const std::uint32_t hop = member.entry - flow.first;
    const std::uint32_t feeder = FeederOf(flow, hop);
    if (feeder != FlowTable::kNone) FeedOf(feeder, at)->members = 0;
    SetAwake(flow, hop);
    FindOthers(member.flow);
  }
  table_.CountForeign(at);
  agenda_.Mark(at);
}

void Pruner::Refeed(std::uint32_t at, std::uint64_t before) {
  for (const Feed& feed : table_.link(at).feeding.feeds) {
    if (feed.members == 0) continue;
    table_.link(feed.link).feeding.fed += table_.link(at).capacity - before;
    WakeIfShort(feed.link);
  }
  WakeIfShort(at);
}

}  // namespace eidolon::network::flow
