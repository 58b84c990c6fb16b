#include "services/network/flow/hold_book.h"

namespace eidolon::network::flow {

void AddTime(std::uint8_t tier, base::Duration time, std::vector<TierTime>* times) {
  if (time.ps == 0) return;
  for (TierTime& known : *times) {
    if (known.tier != tier) continue;
    known.time += time;
    return;
  }
  times->push_back({.tier = tier, .time = time});
}

void HoldBook::Begin(Slot slot) {
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

void HoldBook::Leave(Slot slot, std::uint32_t link, base::SimTime now) {
  if (tiers_.empty()) return;
  Flow& flow = flows_[slot];
  const base::Duration time{now.ps - flow.since_ps};
  flow.since_ps = now.ps;
  if (time.ps == 0) return;
  const std::uint8_t tier = link < tiers_.size() ? tiers_[link] : 0;
  for (std::uint32_t at = flow.first; at != kNone; at = entries_[at].next) {
    if (entries_[at].tier != tier) continue;
    entries_[at].time += time;
    return;
  }
  std::uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[at].next;
  }
  entries_[at] = {.time = time, .next = flow.first, .tier = tier};
  flow.first = at;
}

void HoldBook::AddTo(Slot slot, std::vector<TierTime>* times) const {
  if (tiers_.empty()) return;
  for (std::uint32_t at = flows_[slot].first; at != kNone; at = entries_[at].next) {
    AddTime(entries_[at].tier, entries_[at].time, times);
  }
}

std::size_t HoldBook::BytesUsed() const {
  return tiers_.capacity() + flows_.capacity() * sizeof(Flow) + entries_.capacity() * sizeof(Entry);
}

}  // namespace eidolon::network::flow
