#include "services/network/flow/transfer_set.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"

namespace eidolon::network::flow {

using base::SimTime;
using base::Wide;

TransferSet::TransferSet(std::span<const std::uint64_t> capacities) : fair_share_(capacities) {
  links_.reserve(capacities.size());
  for (std::uint64_t capacity : capacities) links_.push_back({.capacity = capacity});
}

std::uint32_t TransferSet::TakeSlot() {
  if (!free_.empty()) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  flows_.emplace_back();
  return static_cast<std::uint32_t>(flows_.size() - 1);
}

void TransferSet::Add(Transfer transfer) {
  CHECK(transfer.start >= now_ && transfer.latency.ps >= 0 && transfer.alone.ps >= 0);
  const std::uint32_t slot = TakeSlot();
  Flow& flow = flows_[slot];
  flow.left = static_cast<Wide>(transfer.alone.ps) << 32;
  flow.transfer = std::move(transfer);
  flow.active = true;
  flow.flowing = false;
  flow.speed = 0;
  flow.updated = now_;
  ++flow.version;
  ++active_;
  events_queue_.Push(
      {Later(flow.transfer.start, flow.transfer.latency), flow.transfer.key, slot, flow.version});
}

void TransferSet::DropStale() {
  while (!events_queue_.Empty() &&
         events_queue_.Top().version != flows_[events_queue_.Top().slot].version) {
    events_queue_.Pop();
  }
}

std::optional<SimTime> TransferSet::NextTime() {
  DropStale();
  if (events_queue_.Empty()) return std::nullopt;
  return events_queue_.Top().at;
}

void TransferSet::Advance(std::vector<Finish>& finished) {
  const auto next = NextTime();
  CHECK(next.has_value());
  now_ = *next;
  const std::size_t before = finished.size();
  for (DropStale(); !events_queue_.Empty() && events_queue_.Top().at == now_; DropStale()) {
    const Event event = events_queue_.Pop();
    ++events_;
    Flow& flow = flows_[event.slot];
    const bool occupies = !flow.transfer.uses.empty() && flow.transfer.alone.ps > 0;
    if (!flow.flowing && occupies) {
      Enter(event.slot);
      continue;
    }
    if (!flow.flowing && flow.transfer.alone.ps > 0) {
      flow.flowing = true;  // Uses no link: nothing can slow it.
      flow.updated = now_;
      SetSpeed(event.slot, kFullSpeed);
      continue;
    }
    finished.push_back({flow.transfer.key, flow.transfer.start, now_});
    Release(event.slot);
  }
  Solve();
  std::sort(finished.begin() + static_cast<std::ptrdiff_t>(before), finished.end(),
            [](const Finish& a, const Finish& b) { return a.key < b.key; });
}

void TransferSet::Release(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.flowing) Leave(slot);
  flow.active = false;
  flow.flowing = false;
  ++flow.version;
  free_.push_back(slot);
  --active_;
}

template <typename Predicate>
void TransferSet::CancelIf(const Predicate& concerned) {
  for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
    if (flows_[slot].active && concerned(flows_[slot].transfer.key)) Release(slot);
  }
  Solve();
}

void TransferSet::Cancel(std::uint64_t job, std::uint64_t communicator) {
  CancelIf(
      [=](const TransferKey& key) { return key.job == job && key.communicator == communicator; });
}

void TransferSet::Cancel(std::uint64_t job) {
  CancelIf([=](const TransferKey& key) { return key.job == job; });
}

void TransferSet::Enter(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  flow.flowing = true;
  flow.speed = 0;
  flow.updated = now_;
  for (const LinkUse& use : flow.transfer.uses) {
    Link& link = links_[use.link];
    CHECK(use.bytes_per_second > 0 && use.bytes_per_second <= link.capacity);
    link.demand += use.bytes_per_second;
    link.members.push_back(slot);
  }
  changed_flows_.push_back(slot);
}

void TransferSet::Leave(std::uint32_t slot) {
  for (const LinkUse& use : flows_[slot].transfer.uses) {
    Link& link = links_[use.link];
    if (link.Overfull()) changed_links_.push_back(use.link);
    link.demand -= use.bytes_per_second;
    const auto at = std::find(link.members.begin(), link.members.end(), slot);
    *at = link.members.back();
    link.members.pop_back();
  }
}

std::vector<std::uint32_t> TransferSet::Influenced() {
  std::vector<std::uint32_t> reached;
  std::vector<bool> seen(flows_.size(), false);
  const auto reach = [&](std::uint32_t slot) {
    if (seen[slot] || !flows_[slot].flowing) return;
    seen[slot] = true;
    reached.push_back(slot);
  };
  for (std::uint32_t slot : changed_flows_) reach(slot);
  for (topology::LinkIndex link : changed_links_) {
    for (std::uint32_t slot : links_[link].members) reach(slot);
  }
  for (std::size_t at = 0; at < reached.size(); ++at) {
    for (const LinkUse& use : flows_[reached[at]].transfer.uses) {
      const Link& link = links_[use.link];
      if (!link.Overfull()) continue;
      for (std::uint32_t slot : link.members) reach(slot);
    }
  }
  std::sort(reached.begin(), reached.end());
  return reached;
}

void TransferSet::Solve() {
  if (changed_flows_.empty() && changed_links_.empty()) return;
  const std::vector<std::uint32_t> reached = Influenced();
  changed_flows_.clear();
  changed_links_.clear();
  // Links with room for everyone bind nobody, so they stay out of the equations.
  std::vector<std::uint32_t> slots;
  std::vector<std::vector<LinkUse>> binding;
  for (std::uint32_t slot : reached) {
    std::vector<LinkUse> uses;
    for (const LinkUse& use : flows_[slot].transfer.uses) {
      if (links_[use.link].Overfull()) uses.push_back(use);
    }
    if (uses.empty()) {
      SetSpeed(slot, kFullSpeed);
      continue;
    }
    slots.push_back(slot);
    binding.push_back(std::move(uses));
  }
  if (slots.empty()) return;
  std::vector<Competitor> competitors;
  for (std::size_t at = 0; at < slots.size(); ++at) {
    competitors.push_back({flows_[slots[at]].transfer.weight, binding[at]});
  }
  const std::vector<std::uint64_t> speeds = fair_share_.Solve(competitors);
  for (std::size_t at = 0; at < slots.size(); ++at) SetSpeed(slots[at], speeds[at]);
}

void TransferSet::SetSpeed(std::uint32_t slot, std::uint64_t speed) {
  Flow& flow = flows_[slot];
  if (flow.speed == speed) return;
  const auto passed = static_cast<std::uint64_t>((now_ - flow.updated).ps);
  const Wide done = static_cast<Wide>(passed) * flow.speed;
  flow.left -= std::min(flow.left, done);
  flow.updated = now_;
  flow.speed = speed;
  ++flow.version;
  const Wide wait = (flow.left + speed - 1) / speed;
  const auto most = static_cast<Wide>(SimTime::Max().ps - now_.ps);
  const base::Duration until{static_cast<std::int64_t>(std::min(wait, most))};
  events_queue_.Push({now_ + until, flow.transfer.key, slot, flow.version});
}

}  // namespace eidolon::network::flow
