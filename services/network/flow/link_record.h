// What the flow engine keeps of one link: its share, the sums over its flows that the share follows
// from, and the flows themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_spec.h"

namespace eidolon::network::flow {

// One flow's use of one link, as the link sees it.
struct LinkMember {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t entry = 0;
  std::uint32_t flow = 0;
  // The flow's only other link that is awake, if the flow is plain: weight 1, no cap, whole
  // shares. kNone: see its entries.
  std::uint32_t other = kNone;
};

// What the pruner keeps of a link, beside the rest for the cache's sake; it alone touches it.
struct LinkFeeding {
  // A wider link, and how many of its members this link limits there. Never reassigned, so that a
  // flow is counted out as it was counted in.
  struct Feed {
    std::uint32_t link = LinkMember::kNone;
    std::uint32_t members = 0;
  };
  std::uint64_t fed = 0;    // While asleep: capacity of its members' narrower links together.
  std::uint64_t built = 0;  // Its first capacity, by which links are called narrower.
  std::array<Feed, 2> feeds;
  bool unfed = false;  // A flow came for which no narrower link vouches.
};

// What changes of levels look at comes first, in one line of the cache.
struct alignas(64) LinkRecord {
  static constexpr std::uint64_t kUnbound = ~std::uint64_t{0};  // Level of a link that binds none.

  std::uint64_t capacity = 0;
  std::uint64_t foreign = 0;  // Taken by flows bound elsewhere.
  std::uint64_t weight = 0;   // Of flows bound here: sum of weight x share.
  std::uint64_t level = kUnbound;
  std::uint64_t peak = 0;        // No foreign flow has a higher level.
  std::uint32_t bound = 0;       // The first members are bound here.
  std::uint32_t fractional = 0;  // Bound members whose share is not whole.
  bool queued = false;           // On the agenda.
  bool fresh = false;            // A new flow is bound here that may be held lower elsewhere.
  // Cannot bind, as the pruner found: the link keeps nothing but its members.
  bool asleep = true;
  std::vector<LinkMember> members;
  LinkFeeding feeding;

  // Returns what the flows bound here would get each. Requires: there are any, or the link has no
  // room.
  std::uint64_t LevelIfShared() const {
    if (foreign >= capacity) return 0;
    const std::uint64_t left = capacity - foreign;
    if (fractional == 0) return left / (weight >> 31);
    const base::Wide shared = (static_cast<base::Wide>(left) << 31) / weight;
    return static_cast<std::uint64_t>(std::min<base::Wide>(shared, kRateMax));
  }
};

}  // namespace eidolon::network::flow
