// Max-min fair shares of links by water-filling, in integers: exact to the rounding stated below,
// and a function of the set of flows alone, not of their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::flow {

// Speeds are fractions of full speed, in units of 2^-32.
inline constexpr std::uint64_t kFullSpeed = std::uint64_t{1} << 32;

// One competitor. Its bandwidth is that of its busiest link; weights compare bandwidths.
struct Competitor {
  std::uint32_t weight = 1;
  std::span<const LinkUse> uses;
};

// All competitors' bandwidths per weight rise together; a competitor stops at full speed or when
// one of its links is full. Rounded down to 2^-32 of full speed (never to zero), so a link is never
// overfilled by more than its competitors' last units. Reusable scratch space inside; not thread
// safe.
class FairShare {
 public:
  explicit FairShare(std::span<const std::uint64_t> capacities);

  // The competitors' speeds, in their order. Requires: every link exists, weights are positive,
  // uses are not empty.
  std::vector<std::uint64_t> Solve(std::span<const Competitor> competitors);

 private:
  // One link within a solve.
  struct State {
    topology::LinkIndex link = 0;
    std::uint64_t left = 0;      // Capacity that frozen competitors do not use.
    base::Wide coefficient = 0;  // Cost of a rise of the level, summed over those that still rise.
    std::vector<std::uint32_t> members;

    // The level at which the link is full if all its rising competitors go on.
    base::Wide Level() const;
  };
  void Open(std::span<const Competitor> competitors);
  void Freeze(const Competitor& competitor, std::uint64_t reference, std::uint64_t speed);

  std::vector<std::uint64_t> capacities_;
  std::vector<std::uint32_t> slot_of_;  // By link; kNoSlot outside of a solve.
  std::vector<State> states_;           // Links that competitors use, in link order.
};

}  // namespace eidolon::network::flow
