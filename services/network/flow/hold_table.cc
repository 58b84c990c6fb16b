#include "services/network/flow/hold_table.h"

namespace eidolon::network::flow {

void AddTime(const LinkTime& added, std::vector<LinkTime>* times) {
  if (added.time.ps == 0) return;
  for (LinkTime& known : *times) {
    if (known.link != added.link || known.tier != added.tier) continue;
    known.time += added.time;
    return;
  }
  times->push_back(added);
}

void HoldTable::Begin(Slot slot) {
  if (tiers_.empty()) return;
  if (slot >= flows_.size()) flows_.resize(slot + 1);
  std::uint32_t first = flows_[slot].first;
  while (first != kNone) {
    const std::uint32_t next = entries_[first].next;
    entries_[first].next = free_;
    free_ = first;
    first = next;
  }
  flows_[slot].first = kNone;
}

void HoldTable::Leave(Slot slot, std::uint32_t link, base::SimTime now) {
  if (tiers_.empty()) return;
  Flow& flow = flows_[slot];
  const base::Duration time{now.ps - flow.since_ps};
  flow.since_ps = now.ps;
  if (time.ps == 0) return;
  std::uint32_t count = 0;
  for (std::uint32_t at = flow.first; at != kNone; at = entries_[at].next, ++count) {
    if (entries_[at].link != link) continue;
    entries_[at].time += time;
    return;
  }
  if (count >= kLinksMax && link < kFirstTier) return AddToTier(&flow, link, time);
  AddEntry(&flow, link, time);
}

// Adds to the tier of a flow that many links have held.
void HoldTable::AddToTier(Flow* flow, std::uint32_t link, base::Duration time) {
  const std::uint32_t several = kFirstTier + TierOf(link);
  for (std::uint32_t at = flow->first; at != kNone; at = entries_[at].next) {
    if (entries_[at].link != several) continue;
    entries_[at].time += time;
    return;
  }
  AddEntry(flow, several, time);
}

void HoldTable::AddEntry(Flow* flow, std::uint32_t link, base::Duration time) {
  std::uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[at].next;
  }
  entries_[at] = {.time = time, .next = flow->first, .link = link};
  flow->first = at;
}

void HoldTable::AddTo(Slot slot, std::vector<LinkTime>* times) const {
  if (tiers_.empty()) return;
  for (std::uint32_t at = flows_[slot].first; at != kNone; at = entries_[at].next) {
    const Entry& entry = entries_[at];
    AddTime({.link = entry.link >= kFirstTier ? kNoSingleLink : entry.link,
             .tier = TierOf(entry.link),
             .time = entry.time},
            times);
  }
}

std::size_t HoldTable::BytesUsed() const {
  return tiers_.capacity() + flows_.capacity() * sizeof(Flow) + entries_.capacity() * sizeof(Entry);
}

}  // namespace eidolon::network::flow
