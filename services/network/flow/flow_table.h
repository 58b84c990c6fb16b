// What FlowEngine keeps of each flow and link, in flat arrays that name each other by number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_spec.h"

namespace eidolon::network::flow {

struct FlowRecords {
  using Slot = std::uint32_t;  // Of a flow.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint64_t kUnbound = ~std::uint64_t{0};  // Level of a link that binds none.

  // The flows bound to one link, which end in a fixed order whatever its level does. Progress
  // counts work per weight.
  struct Group {
    Work progress = 0;
    base::SimTime updated;
    std::uint64_t level = 0;
    std::vector<Slot> heap;          // By goal.
    std::uint32_t position = kNone;  // In the queue of ends.
  };
  // One flow's use of one link, as the link sees it.
  struct Member {
    std::uint32_t entry = 0;
    Slot flow = 0;
    // The flow's only other link that is awake, if the flow is plain: weight 1, no cap, whole
    // shares. kNone: see its entries.
    std::uint32_t other = kNone;
  };
  // A wider link, and how many of its members a link limits there. Never reassigned, so that a
  // flow is counted out as it was counted in.
  struct Feed {
    std::uint32_t link = kNone;
    std::uint32_t members = 0;
  };
  // What changes of levels look at comes first, in one line of the cache.
  struct alignas(64) Link {
    std::uint64_t capacity = 0;
    std::uint64_t foreign = 0;  // Taken by flows bound elsewhere.
    std::uint64_t weight = 0;   // Of flows bound here: sum of weight x share.
    std::uint64_t level = kUnbound;
    std::uint64_t peak = 0;        // No foreign flow has a higher level.
    std::uint32_t bound = 0;       // The first members are bound here.
    std::uint32_t fractional = 0;  // Bound members whose share is not whole.
    bool queued = false;
    bool touched = false;
    bool fresh = false;  // A new flow is bound here that may be held lower elsewhere.
    // Cannot bind: narrower links before or behind it let no more through than it can carry. Then
    // it keeps nothing but its members.
    bool asleep = true;
    bool unfed = false;       // A flow came for which no narrower link vouches.
    std::uint64_t fed = 0;    // While asleep: capacity of its members' narrower links together.
    std::uint64_t built = 0;  // Its first capacity, by which links are called narrower.
    std::array<Feed, 2> feeds;
    std::vector<Member> members;
  };
  struct Entry {
    std::uint32_t link = 0;
    std::uint32_t position = 0;  // Among the link's members.
    std::uint32_t share = Hop::kWhole;
  };
  struct Flow {
    // While bound to a link: the progress of the link's group at which it ends. At its cap: the
    // picosecond at which it ends. While loose: what is left, per weight.
    Work goal = 0;
    std::uint64_t cap = 0;    // Per weight.
    std::uint32_t first = 0;  // Of its entries.
    std::uint32_t hops = 0;
    std::uint32_t weight = 1;
    std::uint32_t bound = kNone;  // Which of its hops binds it; kNone: its cap.
    // In its link's group, or at its cap in the queue of ends.
    std::uint32_t place = kNone;
    bool live = false;
    bool loose = false;
    std::uint16_t awake = 0;  // Of its first kMasked hops, those whose link is not asleep.
  };
  static constexpr std::uint32_t kMasked = 16;
  // The next end of a link's group, or of a flow at its cap.
  struct End {
    base::SimTime at;
    std::uint32_t id = 0;
  };
  // A flow that a link may take from where it is bound.
  struct Stealable {
    std::uint64_t level = 0;
    Member member;
    bool operator<(const Stealable& other) const {
      return level != other.level ? level < other.level : member.entry < other.member.entry;
    }
  };
};

}  // namespace eidolon::network::flow
