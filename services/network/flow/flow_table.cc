// A cluster has up to millions of flows, so flows, hops and members lie in flat arrays and name
// each other by index; freed slots are used again, and freed entries by their count. A link's sums
// spare the solvers a walk over its members. They are exact, because every term is an integer that
// Usage computes from the stored level: a level may change only together with the sums of the awake
// links where its flow is foreign. Sums are unsigned and may wrap in between. A new flow has level
// zero and no awake link, so it adds nothing until the pruner and a solver have seen it.
#include "services/network/flow/flow_table.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"

namespace eidolon::network::flow {
namespace {

using base::Wide;

constexpr std::uint64_t kBytesPerSecondMax = std::uint64_t{1} << 48;

}  // namespace

std::uint64_t FlowTable::RateOfBytes(std::uint64_t bytes_per_second) {
  CHECK(bytes_per_second < kBytesPerSecondMax);
  return bytes_per_second << kRateBits;
}

FlowTable::FlowTable(std::span<const std::uint64_t> capacities) : links_(capacities.size()) {
  for (std::size_t at = 0; at < capacities.size(); ++at) {
    links_[at].capacity = RateOfBytes(capacities[at]);
    links_[at].feeding.built = links_[at].capacity;
  }
}

std::uint64_t FlowTable::LoadOf(std::uint32_t at) const {
  std::uint64_t load = 0;
  for (const Member& member : links_[at].members) {
    load += Usage(levels_[member.flow], flows_[member.flow].weight, entries_[member.entry].share);
  }
  return load;
}

FlowTable::Slot FlowTable::TakeSlot() {
  if (!free_slots_.empty()) {
    const Slot slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  flows_.emplace_back();
  levels_.push_back(0);
  return static_cast<Slot>(flows_.size() - 1);
}

std::vector<std::uint32_t>& FlowTable::FreeEntries(std::uint32_t count) {
  constexpr std::uint32_t kSmall = 16;
  if (count >= kSmall) return free_large_entries_[count];
  if (free_entries_.empty()) free_entries_.resize(kSmall);
  return free_entries_[count];
}

std::uint32_t FlowTable::TakeEntries(std::uint32_t count) {
  std::vector<std::uint32_t>& free = FreeEntries(count);
  if (!free.empty()) {
    const std::uint32_t first = free.back();
    free.pop_back();
    return first;
  }
  const auto first = static_cast<std::uint32_t>(entries_.size());
  entries_.resize(entries_.size() + count);
  return first;
}

FlowTable::Slot FlowTable::Add(const FlowSpec& spec) {
  CHECK(spec.weight > 0 && spec.cap > 0 && (!spec.hops.empty() || spec.cap < kRateMax));
  for (const Hop& hop : spec.hops) {
    CHECK(hop.link < links_.size() && hop.share > 0 && hop.share <= Hop::kWhole);
    Prefetch(hop.link);
  }
  const Slot slot = TakeSlot();
  const auto hops = static_cast<std::uint32_t>(spec.hops.size());
  const std::uint32_t first = TakeEntries(hops);
  const std::uint64_t cap =
      spec.cap == kRateMax ? kRateMax : std::max<std::uint64_t>(1, spec.cap / spec.weight);
  flows_[slot] = {.cap = cap, .first = first, .hops = hops, .weight = spec.weight, .live = true};
  levels_[slot] = 0;
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    const auto [link, share] = spec.hops[hop];
    std::vector<Member>& members = links_[link].members;
    entries_[first + hop] = {
        .link = link, .position = static_cast<std::uint32_t>(members.size()), .share = share};
    members.push_back({first + hop, slot});
  }
  ++live_;
  return slot;
}

void FlowTable::Leave(Slot slot) {
  const Flow& flow = flows_[slot];
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    const Entry& entry = entries_[flow.first + hop];
    Link& link = links_[entry.link];
    if (Awake(flow, hop)) link.foreign -= Usage(levels_[slot], flow.weight, entry.share);
    Swap(link, entry.position, static_cast<std::uint32_t>(link.members.size() - 1));
    link.members.pop_back();
  }
}

void FlowTable::Free(Slot slot) {
  Flow& flow = flows_[slot];
  if (flow.hops > 0) FreeEntries(flow.hops).push_back(flow.first);
  flow.live = false;
  flow.hops = 0;
  free_slots_.push_back(slot);
  --live_;
}

void FlowTable::CountForeign(std::uint32_t at) {
  Link& link = links_[at];
  link.foreign = 0;
  link.peak = 0;
  for (const Member& member : links_[at].members) {
    link.foreign +=
        Usage(levels_[member.flow], flows_[member.flow].weight, entries_[member.entry].share);
    link.peak = std::max(link.peak, levels_[member.flow]);
  }
}

void FlowTable::CountAll() {
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

std::size_t FlowTable::BytesUsed() const {
  std::size_t bytes = flows_.capacity() * sizeof(Flow) + levels_.capacity() * sizeof(levels_[0]) +
                      entries_.capacity() * sizeof(Entry) + links_.capacity() * sizeof(Link);
  for (const Link& link : links_) bytes += link.members.capacity() * sizeof(Member);
  return bytes;
}

}  // namespace eidolon::network::flow
