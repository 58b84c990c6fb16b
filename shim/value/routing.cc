// A draw is a pure function of its seed: no state is kept between calls, so every reader gets the
// same vector of a call, in any order of reading. Standard distributions are avoided because their
// results differ between libraries. Indices are drawn with the shares as weights, again until the
// expert is new for the token; after 64 tries the next free expert is taken, so that the loop ends
// even when one expert has nearly the whole share. Counts are not a histogram of such a draw but
// the shares themselves, rounded down, with the remainder at random: an expert gets each token at
// most once, so one whose share exceeds the number of tokens is capped and the others divide the
// rest.
#include "shim/value/routing.h"

#include <algorithm>
#include <numeric>

namespace eidolon::shim::value {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  // Below the bound, which is small against 2^64: the bias does not show.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }

 private:
  std::uint64_t state_;
};

std::uint64_t SeedOf(const ring::Declaration& routing, const RoutingDraw& draw) {
  std::uint64_t seed = Random(routing.seed).Next();
  seed = Random(seed ^ draw.rank).Next();
  return Random(seed ^ draw.call).Next();
}

std::vector<std::uint64_t> SharesOf(const ring::Declaration& routing, std::uint64_t call) {
  if (routing.shares.empty()) return std::vector<std::uint64_t>(routing.experts, 1);
  const auto& row = routing.shares[call % routing.shares.size()];
  return {row.begin(), row.end()};
}

}  // namespace

std::vector<std::uint32_t> DrawIndices(const ring::Declaration& routing, const RoutingDraw& draw) {
  std::vector<std::uint64_t> upto = SharesOf(routing, draw.call);
  // Experts of no share are chosen when there are not enough others: a trace next to the others.
  const auto with_share = static_cast<std::uint64_t>(
      std::ranges::count_if(upto, [](std::uint64_t share) { return share > 0; }));
  if (with_share < routing.top_k) {
    for (std::uint64_t& share : upto) share = std::max<std::uint64_t>(share << 20, 1);
  }
  std::partial_sum(upto.begin(), upto.end(), upto.begin());
  Random random(SeedOf(routing, draw));
  std::vector<std::uint32_t> indices;
  indices.reserve(routing.tokens * routing.top_k);
  for (std::uint64_t token = 0; token < routing.tokens; ++token) {
    const auto first = static_cast<std::ptrdiff_t>(indices.size());
    for (std::uint64_t slot = 0; slot < routing.top_k; ++slot) {
      const auto taken = [&](std::uint32_t expert) {
        return std::find(indices.begin() + first, indices.end(), expert) != indices.end();
      };
      std::uint32_t expert = 0;
      int tries = 0;
      do {
        const std::uint64_t at = random.Below(upto.back());
        expert = static_cast<std::uint32_t>(std::ranges::upper_bound(upto, at) - upto.begin());
      } while (taken(expert) && ++tries < 64);
      // One expert has nearly all of the share: its neighbours follow.
      while (taken(expert)) expert = static_cast<std::uint32_t>((expert + 1) % routing.experts);
      indices.push_back(expert);
    }
  }
  return indices;
}

std::vector<std::uint64_t> DrawCounts(const ring::Declaration& routing, const RoutingDraw& draw) {
  std::vector<std::uint64_t> shares = SharesOf(routing, draw.call);
  std::vector<std::uint64_t> counts(routing.experts, 0);
  std::uint64_t left = routing.tokens * routing.top_k;
  // An expert gets a token once at most: what is above goes to the others.
  for (bool full = true; full && left > 0;) {
    std::uint64_t total = 0;
    for (const std::uint64_t share : shares) total += share;
    if (total == 0) break;
    full = false;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      // The factors are at most 2^22 and 2^32.
      const std::uint64_t wanted = left * shares[i] / total;
      if (shares[i] == 0 || wanted < routing.tokens) continue;
      counts[i] = routing.tokens;
      shares[i] = 0;
      left -= routing.tokens;
      full = true;
      break;
    }
    if (full) continue;
    const std::uint64_t all = left;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (shares[i] == 0) continue;
      counts[i] = all * shares[i] / total;
      left -= counts[i];
    }
  }
  Random random(SeedOf(routing, draw));
  while (left > 0) {
    std::size_t expert = random.Below(routing.experts);
    // First those that have a share, then anyone with room.
    for (std::size_t step = 0; step < 2 * counts.size(); ++step) {
      const bool fits = counts[expert] < routing.tokens;
      if (fits && (shares[expert] > 0 || step >= counts.size())) break;
      expert = (expert + 1) % counts.size();
    }
    ++counts[expert];
    --left;
  }
  return counts;
}

}  // namespace eidolon::shim::value
