// The search for a period in the launch sequence of a program without updates.
#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "services/agent/iteration/detector.h"

namespace eidolon::agent::iteration {

namespace {

constexpr std::size_t kHistoryLimit = 1 << 18;
constexpr std::size_t kOpeningLength = 8;
// While the program runs: more repetitions than a model has equal layers in a row.
constexpr std::size_t kPatientRepeats = 24;
constexpr std::size_t kPatientLaunches = 4096;

constexpr std::size_t kTailShare = 20;  // Launches of a turn for one behind the last turn, or
constexpr std::size_t kTailMin = 4;     // so many in any case.
constexpr std::size_t kTailLimit = 64;
constexpr std::size_t kPeriodsMin = 2;
constexpr std::size_t kPeriodsMinByKind = 3;

using Key = std::uint32_t Launch::*;

// match[p]: how many of the sequence's last launches equal the ones p before them (the Z function
// of the reversed sequence).
std::vector<std::size_t> MatchAtDistance(std::span<const Launch> history, Key key) {
  const std::size_t size = history.size();
  const auto at = [&](std::size_t i) { return history[size - 1 - i].*key; };
  std::vector<std::size_t> match(size, 0);
  std::size_t left = 0;
  std::size_t right = 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (i < right) match[i] = std::min(right - i, match[i - left]);
    while (i + match[i] < size && at(match[i]) == at(i + match[i])) ++match[i];
    if (i + match[i] > right) {
      left = i;
      right = i + match[i];
    }
  }
  return match;
}

// Whether the last `period` launches hold nine tenths of the distinct launches that occurred twice.
bool HoldsMost(std::span<const Launch> history, std::size_t period) {
  std::unordered_map<std::uint32_t, std::uint32_t> count;
  for (const Launch& launch : history) ++count[launch.identity];
  std::size_t repeated = 0;
  for (const auto& [identity, times] : count) repeated += times >= 2 ? 1 : 0;
  std::unordered_set<std::uint32_t> held;
  for (const Launch& launch : history.last(period)) {
    if (count[launch.identity] >= 2) held.insert(launch.identity);
  }
  return held.size() * 10 >= repeated * 9;
}

bool MeetsHost(std::span<const Launch> launches) {
  return std::ranges::any_of(launches, &Launch::meets_host);
}

}  // namespace

void Detector::RememberForRepetition(const Launch& launch) {
  if (history_.size() >= kHistoryLimit) return;
  history_.push_back(launch);
  if (history_.size() < next_search_) return;
  next_search_ += next_search_ / 4;
  SearchRepetition({.repeats_min = kPatientRepeats, .run_min = kPatientLaunches});
}

void Detector::SearchRepetition(const Patience& patience) {
  const std::size_t size = history_.size();
  const std::vector<std::size_t> match = MatchAtDistance(history_, &Launch::identity);
  for (std::size_t period = 1; period * patience.repeats_min <= size; ++period) {
    const std::size_t run = match[period] + period;
    if (run < std::max(period * patience.repeats_min, patience.run_min)) continue;
    if (2 * run < size || !HoldsMost(history_, period)) continue;
    repetition_ = period;
    const std::size_t begin = size - run;
    const std::size_t length = std::min(period, kOpeningLength);
    for (std::size_t i = 0; i < length; ++i) opening_.push_back(history_[begin + i].identity);
    // Replays what was seen, so that past and future boundaries follow one rule.
    const std::vector<Launch> replay(history_.begin() + static_cast<std::ptrdiff_t>(begin),
                                     history_.end());
    history_ = {};
    since_boundary_ = begin == 0 ? 0 : period;
    for (const Launch& launch : replay) FollowRepetition(launch);
    return;
  }
}

void Detector::SearchPeriodsAtEnd(const Mark& end) {
  for (const bool by_kind : {false, true}) {
    for (std::size_t tail = 0; tail <= kTailLimit; ++tail) {
      if (SearchPeriods({.tail = tail, .by_kind = by_kind}, end)) return;
    }
  }
}

// Whether there are such turns; marks where they end.
bool Detector::SearchPeriods(const PeriodSearch& search, const Mark& end) {
  const std::size_t tail = search.tail;
  if (history_.size() <= tail) return false;
  const Key key = search.by_kind ? &Launch::kind : &Launch::identity;
  const std::size_t periods_min = search.by_kind ? kPeriodsMinByKind : kPeriodsMin;
  const auto loop = std::span<const Launch>(history_).first(history_.size() - tail);
  const std::vector<std::size_t> match = MatchAtDistance(loop, key);
  for (std::size_t period = 1; period * periods_min <= loop.size(); ++period) {
    const std::size_t run = match[period] + period;
    if (run < period * periods_min || 2 * run < loop.size()) continue;
    if (!MeetsHost(loop.last(period))) continue;
    if (tail > std::max(kTailMin, period / kTailShare)) return false;
    for (std::size_t at = loop.size() - run / period * period; at < loop.size(); at += period) {
      if (at > 0) boundaries_.push_back(loop[at].mark);
    }
    boundaries_.push_back(tail > 0 ? history_[loop.size()].mark : end);
    return true;
  }
  return false;
}

void Detector::FollowRepetition(const Launch& launch) {
  recent_.push_back(launch);
  if (recent_.size() > opening_.size()) recent_.erase(recent_.begin());
  ++since_boundary_;
  const bool opens = std::equal(
      recent_.begin(), recent_.end(), opening_.begin(), opening_.end(),
      [](const Launch& seen, std::uint32_t expected) { return seen.identity == expected; });
  if (!opens || 2 * since_boundary_ <= repetition_ + opening_.size()) return;
  boundaries_.push_back(recent_.front().mark);
  since_boundary_ = opening_.size();
}

}  // namespace eidolon::agent::iteration
