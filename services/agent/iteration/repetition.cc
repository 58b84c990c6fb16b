// Searches the launches of a program without updates for a period. Nothing names a step there, so
// the sequence itself has to show it. The Z function of the reversed sequence gives for every
// distance how far the end repeats itself, in linear time, and all periods are tested by one pass
// over it. The search runs again only when the history has grown by a quarter, so searches become
// rare. Equal layers repeat like steps do, hence the demands while a program runs are high.
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
constexpr std::size_t kOpeningMin = 8;
// While the program runs: more repetitions than a model has equal layers in a row.
constexpr std::size_t kPatientRepeats = 24;
constexpr std::size_t kPatientLaunches = 4096;

constexpr std::size_t kTailShare = 20;  // Launches of a turn for one behind the last turn, or
constexpr std::size_t kTailMin = 4;     // so many in any case.
constexpr std::size_t kTailLimit = 64;
constexpr std::size_t kPeriodsMin = 2;
constexpr std::size_t kPeriodsMinByKind = 3;

using Key = std::uint32_t Launch::*;

// Returns the parts of a launch that are compared.
auto Of(const Launch& launch, Key key) { return std::pair(launch.*key, launch.device); }
auto OfIdentity(const Launch& launch) { return Of(launch, &Launch::identity); }

// match[p]: how many of a sequence's elements equal the ones p further, from the first on (the Z
// function); 0 for p = 0.
template <typename At>
std::vector<std::size_t> MatchAtOffset(std::size_t size, const At& at) {
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

// match[p]: how many of the sequence's last launches equal the ones p before them.
std::vector<std::size_t> MatchAtDistance(std::span<const Launch> history, Key key) {
  const auto at = [&](std::size_t i) { return Of(history[history.size() - 1 - i], key); };
  return MatchAtOffset(history.size(), at);
}

// Returns how many launches of a period tell where it begins: equal layers may follow its first
// ones.
std::size_t OpeningLength(std::span<const Launch> two_periods) {
  const auto at = [&](std::size_t i) { return OfIdentity(two_periods[i]); };
  const std::vector<std::size_t> match = MatchAtOffset(two_periods.size(), at);
  const std::size_t period = two_periods.size() / 2;
  const auto end = match.begin() + static_cast<std::ptrdiff_t>(period);
  return std::min(period, std::max(kOpeningMin, *std::max_element(match.begin(), end) + 1));
}

// Returns whether the last `period` launches hold nine tenths of the distinct launches that
// occurred twice.
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

// The launches of one device. What others launch between two of them counts to the second: the host
// has turned to the next step when it waited behind the last launch of one.
std::vector<Launch> LaunchesOf(std::span<const Launch> all, std::uint32_t device) {
  std::vector<Launch> own;
  bool opens = true;
  Mark mark;
  for (const Launch& launch : all) {
    if (std::exchange(opens, false)) mark = launch.mark;
    if (launch.device != device) continue;
    own.push_back(launch);
    own.back().mark = mark;
    opens = true;
  }
  return own;
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
    const auto repeated = std::span<const Launch>(history_).subspan(begin);
    const auto opening = repeated.first(OpeningLength(repeated.first(2 * period)));
    opening_.assign(opening.begin(), opening.end());
    // Replays what was seen, so that past and future boundaries follow one rule.
    const std::vector<Launch> replay(repeated.begin(), repeated.end());
    history_ = {};
    since_boundary_ = begin == 0 ? 0 : period;
    for (const Launch& launch : replay) FollowRepetition(launch);
    return;
  }
}

bool Detector::SearchPeriodsAtEnd(const Mark& end) {
  for (const bool by_kind : {false, true}) {
    for (std::size_t tail = 0; tail <= kTailLimit; ++tail) {
      if (SearchPeriods({.tail = tail, .by_kind = by_kind}, end)) return true;
    }
  }
  return false;
}

// Returns whether what was launched repeats; marks where.
bool Detector::SearchAtEnd(const Mark& end) {
  if (repetition_ == 0) SearchRepetition({.repeats_min = 2, .run_min = 0});
  if (repetition_ == 0) return SearchPeriodsAtEnd(end);
  if (since_boundary_ * 10 >= repetition_ * 9) boundaries_.push_back(end);
  return true;
}

void Detector::SearchDevicesAtEnd(const Mark& end) {
  std::vector<std::uint32_t> devices;  // In the order of their first use.
  for (const Launch& launch : history_) {
    if (std::ranges::find(devices, launch.device) == devices.end()) {
      devices.push_back(launch.device);
    }
  }
  if (devices.size() < 2) return;
  const std::vector<Launch> all = std::exchange(history_, {});
  for (const std::uint32_t device : devices) {
    history_ = LaunchesOf(all, device);
    if (SearchAtEnd(end)) return;
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
  const bool opens = std::ranges::equal(recent_, opening_, {}, OfIdentity, OfIdentity);
  if (!opens || 2 * since_boundary_ <= repetition_ + opening_.size()) return;
  boundaries_.push_back(recent_.front().mark);
  since_boundary_ = opening_.size();
}

}  // namespace eidolon::agent::iteration
