#include "services/agent/iteration/repetition.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::agent::iteration {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t kBase = 0x1d8af0f3b5c6e927u % kPrime;
constexpr std::size_t kLongestHistory = std::size_t{1} << 22;  // Launches; 64 MiB of hashes.
constexpr std::size_t kMostCuts = 4096;
constexpr int kRepeats = 3;

std::uint64_t Multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = static_cast<Wide>(a) * b;
  const std::uint64_t folded =
      static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  return folded >= kPrime ? folded - kPrime : folded;
}

std::uint64_t Add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

}  // namespace

void Repetition::AddLaunch(std::uint64_t symbol) {
  if (prefix_.size() > kLongestHistory) ForgetOldest();
  prefix_.push_back(Add(Multiply(prefix_.back(), kBase), symbol % kPrime));
  if (power_.size() < prefix_.size()) power_.push_back(Multiply(power_.back(), kBase));
  ++position_;
}

void Repetition::ForgetOldest() {
  const std::size_t dropped = prefix_.size() / 2;
  prefix_.erase(prefix_.begin(), prefix_.begin() + static_cast<std::ptrdiff_t>(dropped));
  first_ += dropped;
  while (!cuts_.empty() && cuts_.front().position < first_) cuts_.pop_front();
}

std::uint64_t Repetition::HashOf(std::size_t begin, std::size_t end) const {
  CHECK(begin >= first_ && begin <= end && end <= position_);
  const std::uint64_t head = Multiply(prefix_[begin - first_], power_[end - begin]);
  return Add(prefix_[end - first_], kPrime - head);
}

bool Repetition::IsPeriodic(std::size_t end, std::size_t period, int repeats) const {
  const std::uint64_t last = HashOf(end - period, end);
  for (int i = 1; i < repeats; ++i) {
    const std::size_t stop = end - static_cast<std::size_t>(i) * period;
    if (CutAt(stop - period) == nullptr || HashOf(stop - period, stop) != last) return false;
  }
  return true;
}

const Repetition::Cut* Repetition::CutAt(std::size_t position) const {
  auto after = std::upper_bound(cuts_.begin(), cuts_.end(), position,
                                [](std::size_t p, const Cut& cut) { return p < cut.position; });
  if (after == cuts_.begin()) return nullptr;
  --after;
  return after->position == position ? &*after : nullptr;
}

std::optional<Repetition::Match> Repetition::AddCut() {
  // Of several waits without a launch in between, the first is where iterations meet.
  if (!cuts_.empty() && cuts_.back().position == position_) {
    ++next_cut_;
    return std::nullopt;
  }
  cuts_.push_back({next_cut_++, position_});
  if (cuts_.size() > kMostCuts) cuts_.pop_front();
  return period_ != 0 ? Continue() : Search(kRepeats);
}

std::optional<Repetition::Match> Repetition::Continue() {
  const std::size_t expected = last_boundary_ + period_;
  if (position_ < expected) return std::nullopt;
  const Cut* from = CutAt(last_boundary_);
  const bool holds = position_ == expected && from != nullptr && IsPeriodic(position_, period_, 2);
  if (!holds) {
    period_ = 0;
    return Search(kRepeats);
  }
  last_boundary_ = position_;
  return Match{.boundaries = {from->number, cuts_.back().number}};
}

std::optional<Repetition::Match> Repetition::Search(int repeats) {
  for (auto earlier = cuts_.rbegin() + 1; earlier < cuts_.rend(); ++earlier) {
    const std::size_t period = position_ - earlier->position;
    if (position_ - first_ < static_cast<std::size_t>(repeats) * period) break;
    if (!IsPeriodic(position_, period, repeats)) continue;
    const bool restarts = last_period_ != 0 && period >= 2 * last_period_;
    std::size_t begin = position_ - static_cast<std::size_t>(repeats) * period;
    // After a break, what was reported before it must not be reported again.
    while (!restarts && begin < last_boundary_) begin += period;
    Match match{.boundaries = {}, .restarts = restarts};
    for (; begin <= position_; begin += period) match.boundaries.push_back(CutAt(begin)->number);
    period_ = last_period_ = period;
    last_boundary_ = position_;
    return match;
  }
  return std::nullopt;
}

std::optional<Repetition::Match> Repetition::Finish() {
  if (last_period_ != 0 || cuts_.size() < 2) return std::nullopt;
  // Launches after the last wait belong to no iteration; search as if the program had ended there.
  const std::size_t end = position_;
  position_ = cuts_.back().position;
  std::optional<Match> match = Search(2);
  position_ = end;
  return match;
}

}  // namespace eidolon::agent::iteration
