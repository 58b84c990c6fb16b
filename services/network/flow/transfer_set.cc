#include "services/network/flow/transfer_set.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"

namespace eidolon::network::flow {
namespace {

using base::SimTime;
using base::Wide;

// Beyond it a link never binds; the engine counts up to it.
constexpr std::uint64_t kCapacityMax = (std::uint64_t{1} << 48) - 1;

std::vector<std::uint64_t> Bounded(std::span<const std::uint64_t> capacities) {
  std::vector<std::uint64_t> bounded(capacities.begin(), capacities.end());
  for (std::uint64_t& capacity : bounded) capacity = std::min(capacity, kCapacityMax);
  return bounded;
}

}  // namespace

TransferSet::TransferSet(std::span<const std::uint64_t> capacities)
    : engine_(Bounded(capacities)) {}

std::uint32_t TransferSet::TakeEntry() {
  if (!free_.empty()) {
    const std::uint32_t entry = free_.back();
    free_.pop_back();
    return entry;
  }
  entries_.emplace_back();
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void TransferSet::Add(Transfer transfer) {
  CHECK(transfer.start >= now_ && transfer.latency.ps >= 0 && transfer.alone.ps >= 0);
  const std::uint32_t at = TakeEntry();
  Entry& entry = entries_[at];
  entry.transfer = std::move(transfer);
  entry.active = true;
  entry.flowing = false;
  ++entry.version;
  ++active_;
  beginnings_.Push(
      {Later(entry.transfer.start, entry.transfer.latency), entry.transfer.key, at, entry.version});
}

void TransferSet::DropStale() {
  while (!beginnings_.Empty() &&
         beginnings_.Top().version != entries_[beginnings_.Top().entry].version) {
    beginnings_.Pop();
  }
}

std::optional<SimTime> TransferSet::NextTime() {
  DropStale();
  const auto finish = engine_.NextFinish();
  if (beginnings_.Empty()) return finish;
  const SimTime begin = beginnings_.Top().at;
  return finish ? std::min(*finish, begin) : begin;
}

void TransferSet::Advance(std::vector<Finish>& finished) {
  const auto next = NextTime();
  CHECK(next.has_value());
  now_ = *next;
  const std::size_t before = finished.size();
  ended_.clear();
  engine_.AdvanceTo(now_, ended_);
  for (FlowEngine::Slot slot : ended_) {
    ++events_;
    entries_[entry_of_[slot]].flowing = false;
    End(entry_of_[slot], finished);
  }
  for (DropStale(); !beginnings_.Empty() && beginnings_.Top().at == now_; DropStale()) {
    const Event event = beginnings_.Pop();
    ++events_;
    if (entries_[event.entry].transfer.alone.ps > 0) {
      Begin(event.entry);
    } else {
      End(event.entry, finished);
    }
  }
  std::sort(finished.begin() + static_cast<std::ptrdiff_t>(before), finished.end(),
            [](const Finish& a, const Finish& b) { return a.key < b.key; });
}

// The transfer becomes a flow whose rate is that of the link it uses most.
void TransferSet::Begin(std::uint32_t at) {
  Entry& entry = entries_[at];
  const Transfer& transfer = entry.transfer;
  std::uint64_t busiest = 1;
  for (const LinkUse& use : transfer.uses) busiest = std::max(busiest, use.bytes_per_second);
  hops_.clear();
  for (const LinkUse& use : transfer.uses) {
    CHECK(use.bytes_per_second > 0);
    const Wide share = static_cast<Wide>(use.bytes_per_second) * Hop::kWhole / busiest;
    hops_.push_back({use.link, std::max<std::uint32_t>(1, static_cast<std::uint32_t>(share))});
  }
  // The engine's rates are multiples of the weight.
  const std::uint64_t level =
      std::max<std::uint64_t>(1, (std::min(busiest, kCapacityMax) << kRateBits) / transfer.weight);
  const std::uint64_t cap = level * transfer.weight;
  entry.slot =
      engine_.Start({.work = static_cast<Wide>(cap) * static_cast<std::uint64_t>(transfer.alone.ps),
                     .cap = cap,
                     .weight = transfer.weight,
                     .hops = hops_});
  entry.flowing = true;
  if (entry.slot >= entry_of_.size()) entry_of_.resize(entry.slot + 1);
  entry_of_[entry.slot] = at;
}

void TransferSet::End(std::uint32_t at, std::vector<Finish>& finished) {
  finished.push_back({entries_[at].transfer.key, entries_[at].transfer.start, now_});
  Release(at);
}

void TransferSet::Release(std::uint32_t at) {
  Entry& entry = entries_[at];
  if (entry.flowing) engine_.Stop(entry.slot);
  entry.active = false;
  entry.flowing = false;
  ++entry.version;
  free_.push_back(at);
  --active_;
}

template <typename Predicate>
void TransferSet::CancelIf(const Predicate& concerned) {
  std::vector<std::pair<TransferKey, std::uint32_t>> found;
  for (std::uint32_t at = 0; at < entries_.size(); ++at) {
    if (entries_[at].active && concerned(entries_[at].transfer.key)) {
      found.emplace_back(entries_[at].transfer.key, at);
    }
  }
  // Not by position, which the order of arrival decides.
  std::sort(found.begin(), found.end());
  for (const auto& [key, at] : found) Release(at);
}

void TransferSet::Cancel(std::uint64_t job, std::uint64_t communicator) {
  CancelIf(
      [=](const TransferKey& key) { return key.job == job && key.communicator == communicator; });
}

void TransferSet::Cancel(std::uint64_t job) {
  CancelIf([=](const TransferKey& key) { return key.job == job; });
}

double TransferSet::Utilisation(topology::LinkIndex link) {
  const std::uint64_t capacity = engine_.CapacityOf(link);
  if (capacity == 0) return 0;
  return static_cast<double>(engine_.LoadOf(link)) / static_cast<double>(capacity);
}

}  // namespace eidolon::network::flow
