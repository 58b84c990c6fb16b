#include "services/agent/server/sleep_table.h"

#include <algorithm>

#include "services/agent/ring/record_check.h"

namespace eidolon::agent::server {

using base::SimTime;

static_assert(::eidolon::ring::kEndOfTimePs < static_cast<std::int64_t>(ring::kClockMaxPs));

bool SleepTable::Begin(int connection, const ::eidolon::ring::VirtualSleep& virtual_sleep,
                       SimTime latest, std::int64_t now_ns) {
  constexpr auto kEnd = static_cast<std::uint64_t>(::eidolon::ring::kEndOfTimePs);
  constexpr std::uint64_t kMostPatientNs = 10'000'000'000;
  const bool is_named = virtual_sleep.moment_ps != 0;
  const std::uint64_t begin = is_named ? 0 : static_cast<std::uint64_t>(latest.ps);
  const std::uint64_t span = is_named ? virtual_sleep.moment_ps : virtual_sleep.length_ps;
  if (begin > kEnd || span > kEnd - begin) return false;
  const auto patience =
      static_cast<std::int64_t>(std::min(virtual_sleep.patience_ns, kMostPatientNs));
  virtual_sleeps_[connection] = {.moment = {static_cast<std::int64_t>(begin + span)},
                                 .patience_ns = patience,
                                 .patient_until_ns = now_ns + patience,
                                 .has_clock = is_named};
  return true;
}

bool SleepTable::End(int connection) { return virtual_sleeps_.erase(connection) > 0; }

std::optional<SimTime> SleepTable::Next() const {
  std::optional<SimTime> next;
  for (const auto& [connection, entry] : virtual_sleeps_) {
    next = std::min(next.value_or(entry.moment), entry.moment);
  }
  return next;
}

bool SleepTable::HoldsBack(std::optional<SimTime> other, std::int64_t now_ns) const {
  const auto next = Next();
  if (!next || (other && *other <= *next)) return false;
  return std::any_of(virtual_sleeps_.begin(), virtual_sleeps_.end(),
                     [&](const auto& virtual_sleep) {
                       return virtual_sleep.second.moment == *next &&
                              now_ns < virtual_sleep.second.patient_until_ns;
                     });
}

void SleepTable::NoteActivity(std::int64_t now_ns) {
  for (auto& [connection, virtual_sleep] : virtual_sleeps_)
    virtual_sleep.patient_until_ns = now_ns + virtual_sleep.patience_ns;
}

std::vector<int> SleepTable::TakeReached(SimTime latest) { return Take(latest, false); }

std::vector<int> SleepTable::TakeSafe(SimTime time) { return Take(time, true); }

std::vector<int> SleepTable::Take(SimTime time, bool also_with_clock) {
  std::vector<int> passed;
  std::erase_if(virtual_sleeps_, [&](const auto& virtual_sleep) {
    if (virtual_sleep.second.moment > time || (virtual_sleep.second.has_clock && !also_with_clock))
      return false;
    passed.push_back(virtual_sleep.first);
    return true;
  });
  return passed;
}

}  // namespace eidolon::agent::server
