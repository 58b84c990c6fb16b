// Give and Drop keep the two directions (rank to process, process to rank) each other's inverse,
// and every change goes through them. A displaced holder is remembered until TakeDisplaced, since
// its session must stop holding the others up. Decisions come as late as the evidence allows:
// nothing is taken from a process that has entered the world communicator, unless it is gone and
// ended no iteration, and Settle guesses only when no known rank has done anything.
#include "services/agent/server/rank_registry.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::agent::server {

bool RankRegistry::Introduce(std::uint32_t process, const Environment& environment) {
  const auto [entry, is_new] = processes_.emplace(process, Process{});
  CHECK(is_new);
  Process& made = entry->second;
  made.claims_by_rank = environment.rank >= 0;
  made.claims_by_environment = made.claims_by_rank || environment.local_rank >= 0;
  if (made.claims_by_rank) {
    made.claim = environment.rank;
  } else if (environment.local_rank >= 0) {
    made.claim = place_.first + environment.local_rank;
  } else if (place_.count == 1) {
    made.claim = place_.first;
  }
  if (!made.claim.has_value() || holders_.contains(*made.claim)) return false;
  Give(*made.claim, process);
  return made.claims_by_rank;
}

void RankRegistry::NoteWork(std::uint32_t process, std::uint32_t device) {
  Process& working = processes_.at(process);
  if (!working.device.has_value()) working.device = device;
}

void RankRegistry::NoteAllocation(std::uint32_t process) {
  processes_.at(process).has_allocated = true;
}

void RankRegistry::NoteGone(std::uint32_t process) { processes_.at(process).is_gone = true; }

void RankRegistry::Give(std::int32_t rank, std::uint32_t process) {
  Drop(process);
  if (const auto holder = holders_.find(rank); holder != holders_.end()) {
    displaced_.push_back(holder->second);
    Drop(holder->second);
  }
  holders_[rank] = process;
  processes_.at(process).rank = rank;
}

void RankRegistry::Drop(std::uint32_t process) {
  Process& dropped = processes_.at(process);
  if (dropped.rank.has_value()) holders_.erase(*dropped.rank);
  dropped.rank.reset();
}

const RankRegistry::Process* RankRegistry::HolderOf(std::int32_t rank) const {
  const auto holder = holders_.find(rank);
  return holder == holders_.end() ? nullptr : &processes_.at(holder->second);
}

void RankRegistry::Enter(std::uint32_t process, const Entry& entry) {
  Process& entering = processes_.at(process);
  if (!IsWorld(entry.size)) {
    if (!entering.largest.has_value() || entering.largest->size < entry.size) {
      entering.largest = entry;
    }
    return;
  }
  if (entering.world.has_value()) {
    const bool is_same = entering.world->communicator == entry.communicator;
    if (!is_same || entering.world->rank <= entry.rank || entering.has_iterated) return;
  }
  entering.world = entry;
  if (entering.rank == entry.rank) return;
  const Process* holder = HolderOf(entry.rank);
  if (holder != nullptr && holder->world.has_value() &&
      !(holder->is_gone && !holder->has_iterated)) {
    return Drop(process);
  }
  Give(entry.rank, process);
}

std::optional<std::int32_t> RankRegistry::EndIteration(std::uint32_t process) {
  Process& ending = processes_.at(process);
  if (!ending.rank.has_value() && !ending.world.has_value() && ending.claim.has_value()) {
    const Process* holder = HolderOf(*ending.claim);
    const bool is_idle =
        holder == nullptr || (!holder->world.has_value() && !holder->has_iterated &&
                              !(holder->claims_by_environment && holder->device.has_value()));
    if (is_idle) Give(*ending.claim, process);
  }
  ending.has_iterated = true;
  return ending.rank;
}

void RankRegistry::Settle() {
  // Claimants that waited for one that in the end did nothing.
  for (const auto& [number, process] : processes_) {
    if (process.rank.has_value() || process.world.has_value() || !process.has_iterated) continue;
    if (!process.claim.has_value()) continue;
    const Process* holder = HolderOf(*process.claim);
    if (holder == nullptr || (!holder->world.has_value() && !holder->has_iterated)) {
      Give(*process.claim, number);
    }
  }
  const std::set<std::uint32_t> left = LeftOver();
  if (left.empty()) return;
  while (!holders_.empty()) Drop(holders_.begin()->second);
  if (!PlaceByCommunicator(left)) PlaceByDevice(left);
}

// Processes that did something and have no rank. Empty when any process that has one has shown that
// it is a rank.
std::set<std::uint32_t> RankRegistry::LeftOver() const {
  const bool any_worked = std::any_of(processes_.begin(), processes_.end(),
                                      [](const auto& p) { return p.second.device.has_value(); });
  std::set<std::uint32_t> left;
  for (const auto& [number, process] : processes_) {
    const bool did = any_worked ? process.device.has_value() : process.has_allocated;
    if (process.rank.has_value()) {
      if (did || process.world.has_value() || process.claims_by_environment) return {};
    } else if (did && !process.world.has_value()) {
      left.insert(number);
    }
  }
  return left;
}

bool RankRegistry::PlaceByCommunicator(const std::set<std::uint32_t>& left) {
  std::map<std::string, std::int32_t> members;
  for (const std::uint32_t number : left) {
    const auto& largest = processes_.at(number).largest;
    if (!largest.has_value()) return false;
    ++members[largest->communicator];
  }
  std::map<std::int32_t, std::uint32_t> places;
  for (const std::uint32_t number : left) {
    const Entry& largest = *processes_.at(number).largest;
    // One whose members are all here numbers the server's ranks, not the job's.
    const bool is_local = members.at(largest.communicator) == largest.size;
    const std::int32_t rank = largest.rank + (is_local ? place_.first : 0);
    if (rank >= total() || !places.emplace(rank, number).second) return false;
  }
  for (const auto& [rank, number] : places) Give(rank, number);
  return true;
}

void RankRegistry::PlaceByDevice(const std::set<std::uint32_t>& left) {
  std::set<std::uint32_t> waiting;
  for (const std::uint32_t number : left) {
    const auto& device = processes_.at(number).device;
    const std::int32_t rank = place_.first + static_cast<std::int32_t>(device.value_or(0));
    if (device.has_value() && *device < static_cast<std::uint32_t>(place_.count) &&
        !holders_.contains(rank)) {
      Give(rank, number);
    } else {
      waiting.insert(number);
    }
  }
  std::int32_t rank = place_.first;
  for (const std::uint32_t number : waiting) {
    while (holders_.contains(rank)) ++rank;
    if (rank >= place_.first + place_.count) return;
    Give(rank, number);
  }
}

std::optional<std::int32_t> RankRegistry::RankOf(std::uint32_t process) const {
  return processes_.at(process).rank;
}

bool RankRegistry::IsCertain(std::uint32_t process) const {
  const Process& asked = processes_.at(process);
  return asked.rank.has_value() && (asked.world.has_value() || asked.claims_by_rank);
}

std::int32_t RankRegistry::NameOf(std::uint32_t process) const {
  const Process& named = processes_.at(process);
  if (named.rank.has_value()) return *named.rank;
  if (named.world.has_value()) return named.world->rank;
  if (named.claim.has_value()) return *named.claim;
  const auto last = static_cast<std::uint32_t>(place_.count - 1);
  return place_.first + static_cast<std::int32_t>(std::min(named.device.value_or(0), last));
}

}  // namespace eidolon::agent::server
