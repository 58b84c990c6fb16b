// Water-filling starts with all competitors at level zero and raises them together; the next event
// is a competitor at full speed or a full link, which freezes its members. Time grows with
// competitors times links, which the flow engine could not afford. It is the second implementation
// against which the engine's tests compare the incremental solvers. All quantities are integers
// with 32 fractional bits in 128-bit products, so no result depends on the order of a sum.
#include "services/network/flow/fair_share.h"

#include <algorithm>
#include <limits>

#include "services/base/check.h"
#include "services/base/sim_time.h"

namespace eidolon::network::flow {
namespace {

using base::Wide;

constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();
// Levels (bandwidth per weight) and coefficients carry 32 fractional bits.
constexpr int kFraction = 32;
constexpr Wide kNever = ~Wide{0};

// Returns what a rise of the level by one costs on a link: weight x use / bandwidth.
Wide Coefficient(const Competitor& competitor, std::uint64_t use, std::uint64_t reference) {
  return (static_cast<Wide>(competitor.weight) * use << kFraction) / reference;
}

std::uint64_t BusiestUse(const Competitor& competitor) {
  std::uint64_t most = 1;
  for (const LinkUse& use : competitor.uses) most = std::max(most, use.bytes_per_second);
  return most;
}

// The level at which a competitor reaches full speed.
Wide FullLevel(const Competitor& competitor, std::uint64_t reference) {
  return (static_cast<Wide>(reference) << kFraction) / competitor.weight;
}

std::uint64_t SpeedAt(Wide level, const Competitor& competitor, std::uint64_t reference) {
  const Wide speed = level * competitor.weight / reference;
  const auto capped = static_cast<std::uint64_t>(std::min<Wide>(speed, kFullSpeed));
  return std::max<std::uint64_t>(1, capped);
}

}  // namespace

Wide FairShare::State::Level() const {
  if (coefficient == 0) return kNever;
  return (static_cast<Wide>(left) << (2 * kFraction)) / coefficient;
}

FairShare::FairShare(std::span<const std::uint64_t> capacities)
    : capacities_(capacities.begin(), capacities.end()), slot_of_(capacities.size(), kNoSlot) {}

void FairShare::Open(std::span<const Competitor> competitors) {
  states_.clear();
  std::vector<topology::LinkIndex> links;
  for (const Competitor& competitor : competitors) {
    for (const LinkUse& use : competitor.uses) links.push_back(use.link);
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  for (topology::LinkIndex link : links) {
    CHECK(link < capacities_.size());
    slot_of_[link] = static_cast<std::uint32_t>(states_.size());
    states_.push_back({.link = link, .left = capacities_[link], .coefficient = 0, .members = {}});
  }
  for (std::uint32_t at = 0; at < competitors.size(); ++at) {
    const std::uint64_t reference = BusiestUse(competitors[at]);
    for (const LinkUse& use : competitors[at].uses) {
      State& state = states_[slot_of_[use.link]];
      state.members.push_back(at);
      state.coefficient += Coefficient(competitors[at], use.bytes_per_second, reference);
    }
  }
}

void FairShare::Freeze(const Competitor& competitor, std::uint64_t reference, std::uint64_t speed) {
  for (const LinkUse& use : competitor.uses) {
    State& state = states_[slot_of_[use.link]];
    state.coefficient -= Coefficient(competitor, use.bytes_per_second, reference);
    const Wide used = (static_cast<Wide>(use.bytes_per_second) * speed + kFullSpeed - 1) >> 32;
    state.left -= std::min(state.left, static_cast<std::uint64_t>(used));
  }
}

std::vector<std::uint64_t> FairShare::Solve(std::span<const Competitor> competitors) {
  Open(competitors);
  std::vector<std::uint64_t> speeds(competitors.size(), 0);  // 0: still rising.
  std::vector<std::uint64_t> reference;
  std::vector<std::pair<Wide, std::uint32_t>> by_full_level;
  for (std::uint32_t at = 0; at < competitors.size(); ++at) {
    CHECK(!competitors[at].uses.empty() && competitors[at].weight > 0);
    reference.push_back(BusiestUse(competitors[at]));
    by_full_level.emplace_back(FullLevel(competitors[at], reference[at]), at);
  }
  std::sort(by_full_level.begin(), by_full_level.end());

  const auto freeze = [&](std::uint32_t at, std::uint64_t speed) {
    speeds[at] = speed;
    Freeze(competitors[at], reference[at], speed);
  };
  auto next_full = by_full_level.begin();
  for (;;) {
    while (next_full != by_full_level.end() && speeds[next_full->second] != 0) ++next_full;
    if (next_full == by_full_level.end()) break;
    const auto tightest =
        std::min_element(states_.begin(), states_.end(),
                         [](const State& a, const State& b) { return a.Level() < b.Level(); });
    const Wide level = tightest->Level();
    if (next_full->first <= level) {
      freeze(next_full->second, kFullSpeed);
      continue;
    }
    for (std::uint32_t at : tightest->members) {
      if (speeds[at] == 0) freeze(at, SpeedAt(level, competitors[at], reference[at]));
    }
  }
  for (const State& state : states_) slot_of_[state.link] = kNoSlot;
  return speeds;
}

}  // namespace eidolon::network::flow
