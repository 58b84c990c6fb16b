// The flows under way and the links that they use, in flat arrays that name each other by number:
// what the solvers of shares read, and the sums over each link's flows that spare them a walk over
// all of these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_spec.h"
#include "services/network/flow/link_record.h"

namespace eidolon::network::flow {

// Invariants: every hop of a live flow has one member in its link's list, and the two know each
// other's positions; the first `bound` members of a link are the flows bound there; `foreign`,
// `weight` and `fractional` of a link that is awake are sums over its members. What is not a sum
// (levels, which links are awake) is the solvers' and the pruner's. Copyable; not thread safe.
class FlowTable {
 public:
  using Slot = std::uint32_t;  // Of a flow.
  static constexpr std::uint32_t kNone = LinkMember::kNone;
  static constexpr std::uint64_t kUnbound = LinkRecord::kUnbound;
  static constexpr std::uint32_t kMasked = 16;  // Hops of a flow that its mask speaks of.

  using Member = LinkMember;
  using Link = LinkRecord;
  struct Entry {
    std::uint32_t link = 0;
    std::uint32_t position = 0;  // Among the link's members.
    std::uint32_t share = Hop::kWhole;
  };
  // Packed: millions of them may be alive.
  struct [[gnu::packed, gnu::aligned(4)]] Flow {
    std::uint64_t cap = 0;    // Per weight.
    std::uint32_t first = 0;  // Of its entries.
    std::uint32_t hops = 0;
    std::uint32_t weight = 1;
    std::uint32_t bound = kNone;  // Which of its hops binds it; kNone: its cap.
    std::uint16_t awake = 0;      // Of its first kMasked hops, those whose link is awake.
    bool live = false;
  };

  // Bytes per second, by link. Requires: each below 2^48.
  explicit FlowTable(std::span<const std::uint64_t> capacities);
  static std::uint64_t RateOfBytes(std::uint64_t bytes_per_second);

  std::uint32_t LinkCount() const { return static_cast<std::uint32_t>(links_.size()); }
  Slot SlotCount() const { return static_cast<Slot>(flows_.size()); }
  std::size_t LiveCount() const { return live_; }
  Link& link(std::uint32_t at) { return links_[at]; }
  const Link& link(std::uint32_t at) const { return links_[at]; }
  Flow& flow(Slot slot) { return flows_[slot]; }
  const Flow& flow(Slot slot) const { return flows_[slot]; }
  // The flow's first; the others follow.
  const Entry* EntriesOf(const Flow& flow) const { return entries_.data() + flow.first; }
  const Entry& EntryOf(const Flow& flow, std::uint32_t hop) const {
    return entries_[flow.first + hop];
  }
  std::uint64_t& level(Slot slot) { return levels_[slot]; }  // Rate per weight.
  std::uint64_t level(Slot slot) const { return levels_[slot]; }
  // The link that binds the flow; kNone: its cap.
  std::uint32_t BoundLink(Slot slot) const {
    const Flow& flow = flows_[slot];
    return flow.bound == kNone ? kNone : entries_[flow.first + flow.bound].link;
  }

  // Returns what a flow of this level and weight takes of a link.
  static std::uint64_t Usage(std::uint64_t level, std::uint32_t weight, std::uint32_t share) {
    const std::uint64_t rate = level * weight;
    if (share == Hop::kWhole) return rate;
    return static_cast<std::uint64_t>(static_cast<base::Wide>(rate) * share >> 31);
  }
  std::uint64_t LoadOf(std::uint32_t link) const;

  static bool Awake(const Flow& flow, std::uint32_t hop) {
    return hop >= kMasked || (flow.awake >> hop & 1) != 0;
  }
  // Calls `visit` with each hop whose link is awake, but for `except`.
  template <typename Visit>
  static void ForAwake(const Flow& flow, std::uint32_t except, const Visit& visit) {
    std::uint32_t mask = flow.awake;
    if (except < kMasked) mask &= ~(1u << except);
    for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
    for (std::uint32_t hop = kMasked; hop < flow.hops; ++hop) {
      if (hop != except) visit(hop);
    }
  }

  // A new flow joins its links as one that takes nothing yet; none of its links counts as awake.
  // Requires: links exist and differ; weight and cap are positive.
  Slot Add(const FlowSpec& spec);
  // The flow's members leave their links, as foreign ones do that take nothing any more. Requires:
  // it is bound to its cap.
  void Leave(Slot slot);
  // Its slot and its entries are free again. Requires: it has left.
  void Free(Slot slot);

  // Lets the processor fetch a link while others are at work: random ones are far apart.
  void Prefetch(std::uint32_t link) const {
    __builtin_prefetch(&links_[link]);
    __builtin_prefetch(&links_[link].members);
  }
  // A foreign member becomes a bound one; the flow's level stays what it was. Requires: the flow
  // was bound to its cap, and the hop's link is awake.
  void Bind(Slot slot, std::uint32_t hop);
  // The reverse. Answers the link when it binds nobody any more, else kNone.
  std::uint32_t Unbind(Slot slot);
  // The link counts its members, none of which is bound there, as foreign ones.
  void CountForeign(std::uint32_t link);
  // All links count their members anew, as the flows' `bound` and levels say.
  void CountAll();

  std::size_t BytesUsed() const;

 private:
  Slot TakeSlot();
  std::uint32_t TakeEntries(std::uint32_t count);
  std::vector<std::uint32_t>& FreeEntries(std::uint32_t count);
  void Swap(Link& link, std::uint32_t a, std::uint32_t b);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint64_t> levels_;  // By slot.
  std::vector<Entry> entries_;
  std::vector<Slot> free_slots_;
  std::vector<std::vector<std::uint32_t>> free_entries_;  // By count, of small counts.
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_large_entries_;
  std::size_t live_ = 0;
};

inline void FlowTable::Swap(Link& link, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  std::swap(link.members[a], link.members[b]);
  entries_[link.members[a].entry].position = a;
  entries_[link.members[b].entry].position = b;
}

inline void FlowTable::Bind(Slot slot, std::uint32_t hop) {
  Flow& flow = flows_[slot];
  flow.bound = hop;
  const Entry& entry = entries_[flow.first + hop];
  Link& link = links_[entry.link];
  link.foreign -= Usage(levels_[slot], flow.weight, entry.share);
  link.weight += std::uint64_t{flow.weight} * entry.share;
  if (entry.share != Hop::kWhole) ++link.fractional;
  Swap(link, entry.position, link.bound);
  ++link.bound;
}

inline std::uint32_t FlowTable::Unbind(Slot slot) {
  Flow& flow = flows_[slot];
  const Entry& entry = entries_[flow.first + flow.bound];
  Link& link = links_[entry.link];
  flow.bound = kNone;
  link.foreign += Usage(levels_[slot], flow.weight, entry.share);
  link.peak = std::max(link.peak, levels_[slot]);
  link.weight -= std::uint64_t{flow.weight} * entry.share;
  if (entry.share != Hop::kWhole) --link.fractional;
  --link.bound;
  Swap(link, entry.position, link.bound);
  if (link.bound > 0) return kNone;
  link.level = kUnbound;
  link.fresh = false;
  return entry.link;
}

}  // namespace eidolon::network::flow
