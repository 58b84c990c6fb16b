#include "services/agent/server/nap_book.h"

#include <algorithm>

#include "services/agent/ring/record_check.h"

namespace eidolon::agent::server {

using base::SimTime;

static_assert(::eidolon::ring::kEndOfTimePs < static_cast<std::int64_t>(ring::kClockMaxPs));

bool NapBook::Begin(int connection, const ::eidolon::ring::Nap& nap, SimTime latest,
                    std::int64_t now_ns) {
  constexpr auto kEnd = static_cast<std::uint64_t>(::eidolon::ring::kEndOfTimePs);
  constexpr std::uint64_t kMostPatientNs = 10'000'000'000;
  const bool is_named = nap.moment_ps != 0;
  const std::uint64_t begin = is_named ? 0 : static_cast<std::uint64_t>(latest.ps);
  const std::uint64_t span = is_named ? nap.moment_ps : nap.length_ps;
  if (begin > kEnd || span > kEnd - begin) return false;
  const auto patience = static_cast<std::int64_t>(std::min(nap.patience_ns, kMostPatientNs));
  naps_[connection] = {.moment = {static_cast<std::int64_t>(begin + span)},
                       .patience_ns = patience,
                       .patient_until_ns = now_ns + patience,
                       .has_clock = is_named};
  return true;
}

bool NapBook::End(int connection) { return naps_.erase(connection) > 0; }

std::optional<SimTime> NapBook::Next() const {
  std::optional<SimTime> next;
  for (const auto& [connection, entry] : naps_) {
    next = std::min(next.value_or(entry.moment), entry.moment);
  }
  return next;
}

bool NapBook::HoldsBack(std::optional<SimTime> other, std::int64_t now_ns) const {
  const auto next = Next();
  if (!next || (other && *other <= *next)) return false;
  return std::any_of(naps_.begin(), naps_.end(), [&](const auto& nap) {
    return nap.second.moment == *next && now_ns < nap.second.patient_until_ns;
  });
}

void NapBook::NoteActivity(std::int64_t now_ns) {
  for (auto& [connection, nap] : naps_) nap.patient_until_ns = now_ns + nap.patience_ns;
}

std::vector<int> NapBook::TakeReached(SimTime latest) { return Take(latest, false); }

std::vector<int> NapBook::TakeSafe(SimTime time) { return Take(time, true); }

std::vector<int> NapBook::Take(SimTime time, bool also_with_clock) {
  std::vector<int> passed;
  std::erase_if(naps_, [&](const auto& nap) {
    if (nap.second.moment > time || (nap.second.has_clock && !also_with_clock)) return false;
    passed.push_back(nap.first);
    return true;
  });
  return passed;
}

}  // namespace eidolon::agent::server
