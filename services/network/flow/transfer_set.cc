// A transfer becomes one flow whose work is its own full rate times `alone`, so an undisturbed
// transfer ends after exactly latency + alone picoseconds: the rate is a multiple of the weight and
// divides the work without a rest. Capacities stay below 2^48 bytes per second, because the
// engine's rates carry 14 fractional bits. The events of an instant are handled ends first, and
// results leave in key order. Entries are used again; a version in each event tells a stale one
// from a new transfer. Everything here runs on one thread, and no result may depend on a slot's or
// an entry's number.
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

TransferSet::TransferSet(std::span<const std::uint64_t> capacities,
                         std::span<const std::uint8_t> tiers)
    : engine_(Bounded(capacities), tiers), tiers_(tiers.begin(), tiers.end()) {
  tiers_.resize(capacities.size());
}

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
  entry.spent = {};
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
  if (*next > now_) NoteLoads();
  now_ = *next;
  const std::size_t before = finished.size();
  ended_.clear();
  engine_.AdvanceTo(now_, ended_);
  for (FlowEngine::Slot slot : ended_) {
    ++events_;
    CountSpent(entries_[entry_of_[slot]]);
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

namespace {

std::uint64_t Busiest(std::span<const LinkUse> uses) {
  std::uint64_t busiest = 1;
  for (const LinkUse& use : uses) busiest = std::max(busiest, use.bytes_per_second);
  return busiest;
}

// A flow's rate is that of the link it uses most. The engine's rates are multiples of the weight.
std::uint64_t CapFor(std::span<const LinkUse> uses, std::uint32_t weight) {
  const std::uint64_t busiest = std::min(Busiest(uses), kCapacityMax);
  return std::max<std::uint64_t>(1, (busiest << kRateBits) / weight) * weight;
}

}  // namespace

FlowEngine::Slot TransferSet::Enter(std::span<const LinkUse> uses, std::uint64_t cap,
                                    base::Duration time, std::uint32_t weight) {
  const std::uint64_t busiest = Busiest(uses);
  hops_.clear();
  for (const LinkUse& use : uses) {
    CHECK(use.bytes_per_second > 0);
    const Wide share = static_cast<Wide>(use.bytes_per_second) * Hop::kWhole / busiest;
    hops_.push_back({use.link, std::max<std::uint32_t>(1, static_cast<std::uint32_t>(share))});
  }
  return engine_.Start({.work = static_cast<Wide>(cap) * static_cast<std::uint64_t>(time.ps),
                        .cap = cap,
                        .weight = weight,
                        .hops = hops_});
}

Fullest TransferSet::FullestOf(std::span<const LinkUse> uses) const {
  const LinkUse* fullest = nullptr;
  std::uint64_t capacity = 1;
  for (const LinkUse& use : uses) {
    const std::uint64_t room = engine_.CapacityOf(use.link);
    const bool is_fuller =
        fullest == nullptr || static_cast<Wide>(use.bytes_per_second) * capacity >
                                  static_cast<Wide>(fullest->bytes_per_second) * room;
    if (!is_fuller) continue;
    fullest = &use;
    capacity = room;
  }
  if (fullest == nullptr) return {};
  const std::uint64_t rate = std::min(fullest->bytes_per_second, kCapacityMax) << kRateBits;
  const Wide part =
      rate >= capacity ? Hop::kWhole : static_cast<Wide>(rate) * Hop::kWhole / capacity;
  return {.link = fullest->link,
          .tier = tiers_[fullest->link],
          .part = static_cast<std::uint32_t>(part)};
}

Fullest TransferSet::FullestOf(const LinkUses& uses) {
  constexpr std::size_t kFew = 16;
  if (uses == nullptr || uses->size() <= kFew) {
    return uses == nullptr ? Fullest{} : FullestOf(std::span(*uses));
  }
  // Only the time that it takes depends on the address.
  constexpr std::size_t kAlignment = 64;
  const auto at = reinterpret_cast<std::uintptr_t>(uses.get()) / kAlignment % fullest_.size();
  auto& [known, fullest] = fullest_[at];
  if (known != uses) {
    known = uses;
    fullest = FullestOf(std::span(*uses));
  }
  return fullest;
}

// Its flow has ended: what went by since it began to flow over the links that it used.
void TransferSet::CountSpent(Entry& entry) {
  Spent& spent = entry.spent;
  const auto held = [&] {
    base::Duration sum;
    for (const LinkTime& link : spent.links) sum += link.time;
    return sum;
  };
  const base::Duration before = held();
  engine_.AddHeld(entry.slot, &spent.links);
  CountFullSpeed(entry.fullest, now_ - entry.entered - (held() - before), &spent);
}

void TransferSet::CountFullSpeed(const Fullest& fullest, base::Duration time, Spent* spent) {
  const Wide product = static_cast<Wide>(static_cast<std::uint64_t>(time.ps)) * fullest.part;
  const Wide on_link = (product + Hop::kWhole / 2) / Hop::kWhole;
  const base::Duration link{static_cast<std::int64_t>(on_link)};
  AddTime({.link = fullest.link, .tier = fullest.tier, .time = link}, &spent->links);
  spent->pace += time - link;
}

Finish TransferSet::AloneOf(const Transfer& transfer) {
  Finish finish{.key = transfer.key,
                .start = transfer.start,
                .finish = Later(Later(transfer.start, transfer.latency), transfer.alone),
                .spent = {.latency = transfer.latency, .pace = {}, .links = {}}};
  if (transfer.alone.ps > 0) {
    CountFullSpeed(FullestOf(transfer.uses), transfer.alone, &finish.spent);
  }
  return finish;
}

void TransferSet::StartFlow(Entry& entry, std::uint32_t at, base::Duration time) {
  const Transfer& transfer = entry.transfer;
  entry.fullest = FullestOf(transfer.uses);
  entry.entered = now_;
  entry.slot =
      Enter(transfer.Links(), CapFor(transfer.Links(), transfer.weight), time, transfer.weight);
  if (entry.slot >= entry_of_.size()) entry_of_.resize(entry.slot + 1);
  entry_of_[entry.slot] = at;
}

void TransferSet::Begin(std::uint32_t at) {
  Entry& entry = entries_[at];
  StartFlow(entry, at, entry.transfer.alone);
  entry.flowing = true;
}

void TransferSet::AdvanceTo(SimTime time) {
  const auto next = NextTime();
  CHECK(time >= now_ && (!next || time < *next));
  if (time > now_) NoteLoads();
  now_ = time;
  ended_.clear();
  engine_.AdvanceTo(now_, ended_);
  CHECK(ended_.empty());
}

void TransferSet::SetCapacity(topology::LinkIndex link, std::uint64_t capacity) {
  fullest_.fill({});
  engine_.SetCapacity(link, std::min(capacity, kCapacityMax));
}

void TransferSet::Reroute(const std::function<LinkUses(const Transfer&)>& route) {
  std::vector<std::pair<TransferKey, std::uint32_t>> active;
  for (std::uint32_t at = 0; at < entries_.size(); ++at) {
    if (entries_[at].active) active.emplace_back(entries_[at].transfer.key, at);
  }
  std::sort(active.begin(), active.end());
  for (const auto& [key, at] : active) {
    Entry& entry = entries_[at];
    LinkUses uses = route(entry.transfer);
    const Transfer& transfer = entry.transfer;
    const bool is_same = uses == transfer.uses ||
                         (uses != nullptr && transfer.uses != nullptr && *uses == *transfer.uses);
    if (is_same) continue;
    const std::uint64_t cap = CapFor(transfer.Links(), transfer.weight);
    entry.transfer.uses = std::move(uses);
    if (!entry.flowing) continue;
    // Rest of the work, as time at full speed.
    const Wide left = (engine_.LeftOf(entry.slot) + cap - 1) / cap;
    engine_.Stop(entry.slot);
    CountSpent(entry);
    StartFlow(entry, at, base::Duration{static_cast<std::int64_t>(left)});
  }
}

std::size_t TransferSet::AddBackground(std::span<const LinkUse> uses, std::uint32_t weight) {
  background_.emplace_back(
      Enter(uses, CapFor(uses, weight), base::Duration{SimTime::Max().ps}, weight), weight);
  return background_.size() - 1;
}

void TransferSet::RerouteBackground(std::size_t number, std::span<const LinkUse> uses) {
  auto& [slot, weight] = background_.at(number);
  engine_.Stop(slot);
  slot = Enter(uses, CapFor(uses, weight), base::Duration{SimTime::Max().ps}, weight);
}

void TransferSet::End(std::uint32_t at, std::vector<Finish>& finished) {
  Entry& entry = entries_[at];
  const SimTime start = entry.transfer.start;
  Spent& spent = entry.spent;
  std::ranges::sort(spent.links, {},
                    [](const LinkTime& time) { return std::pair(time.tier, time.link); });
  spent.latency = now_ - start - spent.pace;
  for (const LinkTime& link : spent.links) spent.latency -= link.time;
  finished.push_back({entry.transfer.key, start, now_, std::move(spent)});
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
  // The order is not that of position, which the order of arrival determines.
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

// Rates are those that hold from now on: time is about to go on, and the next event is known.
void TransferSet::NoteLoads() {
  if (!history_.IsWatching()) return;
  history_.Note(now_, [this](topology::LinkIndex link) { return engine_.LoadOf(link); });
}

std::vector<LoadChange> TransferSet::LoadsOf(const std::vector<topology::LinkIndex>& links,
                                             SimTime from, SimTime to) {
  NextTime();
  NoteLoads();
  return history_.Read(links, from, to);
}

double TransferSet::Utilisation(topology::LinkIndex link) {
  const std::uint64_t capacity = engine_.CapacityOf(link);
  if (capacity == 0) return 0;
  return static_cast<double>(engine_.LoadOf(link)) / static_cast<double>(capacity);
}

}  // namespace eidolon::network::flow
