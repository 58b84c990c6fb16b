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

void Horizon::BeginNetworkWait(std::uint32_t rank, std::uint32_t slot) {
  BeginMomentWait(rank, slot, SimTime::Max());
}

void Horizon::BeginMomentWait(std::uint32_t rank, std::uint32_t slot, SimTime moment) {
  EndWait(rank, slot);
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end()) return;
  entry->second.waits[slot] = moment;
  if (moment == SimTime::Max()) ++entry->second.network_waits;
}

void Horizon::EndWait(std::uint32_t rank, std::uint32_t slot) {
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end()) return;
  Rank& waiting = entry->second;
  const auto found = waiting.waits.find(slot);
  if (found == waiting.waits.end()) return;
  if (found->second == SimTime::Max()) --waiting.network_waits;
  waiting.waits.erase(found);
}

SimTime Horizon::LowerBound() const {
  SimTime bound = missing_ > 0 ? SimTime{} : SimTime::Max();
  for (const auto& [number, rank] : ranks_) {
    if (rank.waits.empty()) {
      bound = std::min(bound, rank.clock);
      continue;
    }
    for (const auto& [slot, moment] : rank.waits) {
      if (moment != SimTime::Max()) bound = std::min(bound, std::max(moment, rank.clock));
    }
  }
  return bound;
}

std::optional<SimTime> Horizon::Wanted() const {
  std::optional<SimTime> wanted;
  for (const auto& [number, rank] : ranks_) {
    for (const auto& [slot, moment] : rank.waits) {
      if (moment != SimTime::Max()) wanted = std::min(wanted.value_or(moment), moment);
    }
  }
  return wanted;
}

bool Horizon::HasNetworkWait() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.second.network_waits > 0; });
}

bool Horizon::EveryRankWaits() const {
  return std::none_of(ranks_.begin(), ranks_.end(),
                      [](const auto& rank) { return rank.second.waits.empty(); });
}

}  // namespace eidolon::agent::clock
