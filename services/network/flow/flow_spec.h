// The words of the flow engine: rates, work, and what a flow is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::network::flow {

// Rates are integers in units of 2^-14 bytes a second, so that sums over flows are exact and do not
// depend on their order.
inline constexpr int kRateBits = 14;
inline constexpr std::uint64_t kRateMax = std::uint64_t{1} << 62;
// Work is rate x picoseconds.
using Work = base::Wide;

constexpr Work WorkOf(std::uint64_t bytes) {
  return static_cast<Work>(bytes) * (std::uint64_t{1} << kRateBits) * 1'000'000'000'000u;
}

// One link of a flow, and the part of the flow's rate that passes over it, in units of 2^-31.
struct Hop {
  std::uint32_t link = 0;
  std::uint32_t share = kWhole;
  static constexpr std::uint32_t kWhole = std::uint32_t{1} << 31;
};

struct FlowSpec {
  Work work = 0;
  std::uint64_t cap = kRateMax;  // Rate it never exceeds, in rate units.
  std::uint32_t weight = 1;      // On a link all flows bound there get rates as their weights.
  std::span<const Hop> hops;     // No link twice; may be empty if there is a cap.
};

// Stands for a link's number: several links of one tier, none of them alone.
inline constexpr std::uint32_t kNoSingleLink = ~std::uint32_t{0};

// Time that a flow spent on a link. The tier is the caller's number for links of its sort.
struct LinkTime {
  std::uint32_t link = kNoSingleLink;
  std::uint8_t tier = 0;
  base::Duration time;
  bool operator==(const LinkTime&) const = default;
};

// Each link is in the list once, and what is of no single one once for each tier.
void AddTime(const LinkTime& added, std::vector<LinkTime>* times);

}  // namespace eidolon::network::flow
