// Two bounds look alike and must not be mixed. LowerBound relies on the protocol: a rank that waits
// for the network may count as never, because the network holds this server back until its answer
// has been acknowledged. OwnBound holds whatever is answered, so a waiting rank counts with the
// earliest end of what it waits for. Each slot has one wait, and a new one ends the old. Clocks
// only grow: a value that comes late cannot take back a bound that was promised. `network_waits` is
// the number of waits whose moment is Max(), kept beside the map for a quick answer.
#include "services/agent/clock/horizon.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::agent::clock {

using base::SimTime;

void Horizon::AddRank(std::uint32_t rank, SimTime clock) {
  CHECK(ranks_.emplace(rank, Rank{.clock = clock, .network_waits = 0, .waits = {}}).second);
}

void Horizon::RemoveRank(std::uint32_t rank) { ranks_.erase(rank); }

void Horizon::SetClock(std::uint32_t rank, SimTime clock) {
  const auto entry = ranks_.find(rank);
  if (entry != ranks_.end()) entry->second.clock = std::max(entry->second.clock, clock);
}

void Horizon::BeginNetworkWait(std::uint32_t rank, std::uint32_t slot, SimTime not_before) {
  BeginMomentWait(rank, slot, SimTime::Max());
  RaiseNetworkWait(rank, slot, not_before);
}

void Horizon::RaiseNetworkWait(std::uint32_t rank, std::uint32_t slot, SimTime not_before) {
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end()) return;
  const auto wait = entry->second.waits.find(slot);
  if (wait == entry->second.waits.end() || wait->second.moment != SimTime::Max()) return;
  wait->second.not_before = std::max(wait->second.not_before, not_before);
}

void Horizon::BeginMomentWait(std::uint32_t rank, std::uint32_t slot, SimTime moment) {
  EndWait(rank, slot);
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end()) return;
  ++begun_;
  entry->second.waits[slot] = {.moment = moment, .not_before = {}};
  if (moment == SimTime::Max()) ++entry->second.network_waits;
}

void Horizon::BeginValueWait(std::uint32_t rank, std::uint32_t slot) {
  EndWait(rank, slot);
  const auto entry = ranks_.find(rank);
  if (entry != ranks_.end()) entry->second.value_waits[slot] = false;
}

void Horizon::PassOverValueWaits() {
  for (auto& [number, rank] : ranks_) {
    for (auto& [slot, passed_over] : rank.value_waits) passed_over = true;
  }
}

bool Horizon::EndWait(std::uint32_t rank, std::uint32_t slot) {
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end()) return false;
  Rank& waiting = entry->second;
  if (const auto values = waiting.value_waits.extract(slot)) return values.mapped();
  const auto found = waiting.waits.find(slot);
  if (found == waiting.waits.end()) return false;
  if (found->second.moment == SimTime::Max()) --waiting.network_waits;
  waiting.waits.erase(found);
  return false;
}

SimTime Horizon::LowerBound() const {
  SimTime bound = missing_ > 0 ? SimTime{} : SimTime::Max();
  for (const auto& [number, rank] : ranks_) {
    if (rank.waits.empty()) {
      const bool is_passed_over =
          std::ranges::any_of(rank.value_waits, [](const auto& wait) { return wait.second; });
      if (!is_passed_over) bound = std::min(bound, rank.clock);
      continue;
    }
    for (const auto& [slot, wait] : rank.waits) {
      if (wait.moment != SimTime::Max()) bound = std::min(bound, std::max(wait.moment, rank.clock));
    }
  }
  return bound;
}

SimTime Horizon::OwnBound(std::uint32_t number) const {
  const auto found = ranks_.find(number);
  if (found == ranks_.end()) return SimTime::Max();
  const Rank& rank = found->second;
  if (rank.waits.empty() || !rank.value_waits.empty()) return rank.clock;
  SimTime bound = SimTime::Max();
  for (const auto& [slot, wait] : rank.waits) {
    const SimTime earliest = wait.moment == SimTime::Max() ? wait.not_before : wait.moment;
    bound = std::min(bound, std::max(earliest, rank.clock));
  }
  return bound;
}

std::optional<SimTime> Horizon::Wanted() const {
  std::optional<SimTime> wanted;
  for (const auto& [number, rank] : ranks_) {
    for (const auto& [slot, wait] : rank.waits) {
      if (wait.moment == SimTime::Max()) continue;
      wanted = std::min(wanted.value_or(wait.moment), wait.moment);
    }
  }
  return wanted;
}

bool Horizon::HasNetworkWait() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.second.network_waits > 0; });
}

bool Horizon::StandsForValues() const {
  return EveryRankWaits() && std::ranges::any_of(ranks_, [](const auto& rank) {
           return !rank.second.value_waits.empty();
         });
}

bool Horizon::EveryRankWaits() const {
  return !ranks_.empty() && std::none_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
    return rank.second.waits.empty() && rank.second.value_waits.empty();
  });
}

}  // namespace eidolon::agent::clock
