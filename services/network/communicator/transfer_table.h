// The sends and receives of one communicator: which fit together, which groups they belong to, and
// when a group is done. A rank's group ends when the last of its transfers ends.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/communicator/collective_table.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/payload.h"
#include "services/network/flow/transfer_set.h"

namespace eidolon::network::communicator {

// A send and its receive: the n-th from one rank to another.
struct Pair {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint64_t sequence = 0;
  auto operator<=>(const Pair&) const = default;
};

// A rank's n-th group.
struct GroupId {
  std::int32_t rank = 0;
  std::uint64_t sequence = 0;
  auto operator<=>(const GroupId&) const = default;
};

// This class is not thread-safe. Ranks are those of the communicator; callers have checked them.
class TransferTable {
 public:
  struct Ready {
    Pair pair;
    std::uint64_t bytes = 0;
    base::SimTime start;
  };
  struct Values {
    GroupId group;
    Payload result;  // The group's receives, one after another.
  };
  struct Done {
    GroupId group;
    base::SimTime start;
    base::SimTime finish;
    std::uint64_t bytes_max = 0;    // Of its largest transfer...
    bool largest_sends = false;     // ...its direction...
    std::int32_t largest_peer = 0;  // ...and partner.
    flow::Spent spent;              // Of the transfer that ended last.
  };

  // Yields the values of all groups whose last receive met its send by this call. `input` is the
  // group's sends' bytes, one after another. Fails on a repeated call, or on partners that disagree
  // on a size.
  base::Result<std::vector<Values>> Issue(GroupId id, const Operation& operation, Payload input);
  // Yields the transfers whose both sides have come.
  base::Result<std::vector<Ready>> Post(GroupId id, base::SimTime ready);
  // The group is not posted before `ready`. Nothing happens when it is already, or was not issued.
  void Bound(GroupId id, base::SimTime ready);
  // The group's transfers to other groups that have called, too: when each could start at the
  // earliest, as far as its sides have been posted or bounded.
  std::vector<Ready> BoundsOf(GroupId id) const;
  // The number of the receiver's group, when that is to hear that it ends at `end` or later: it
  // consists of nothing but this transfer, and has not heard of such a late time yet.
  std::optional<std::uint64_t> TakeTold(const Pair& pair, base::SimTime end);
  // A transfer ended; yields the groups that ended with it, in order.
  std::vector<Done> Finish(const Pair& pair, const flow::Finish& finish);

  struct Incomplete {
    Pair pair;
    std::uint64_t bytes = 0;
    bool sender_waits = false;  // Else the receiver does.
    bool partner_called = false;
  };
  // Transfers one side of which waits for the other, in order.
  std::vector<Incomplete> Unfinished() const;
  // True when a call of another rank has no partner of this rank.
  bool Misses(std::int32_t rank) const;
  // The same, or the partner's stream has not come.
  bool Needs(std::int32_t rank) const;
  bool Idle() const { return groups_.empty(); }

 private:
  struct Side {
    GroupId group;
    std::uint64_t bytes = 0;
    Payload bytes_sent;  // Of a send, when known.
  };
  struct Sides {
    std::optional<Side> send;
    std::optional<Side> receive;
    bool started = false;
  };
  struct Group {
    std::vector<Pair> pairs;
    std::vector<Pair> receives;  // In call order.
    // What receives that have ended before the last one met its send brought.
    std::map<Pair, Payload> arrived;
    std::uint64_t smallest_receive = ~std::uint64_t{0};
    std::size_t unmet = 0;  // Receives whose send has not been called.
    std::size_t left = 0;   // Transfers that have not ended.
    bool posted = false;
    bool values_sent = false;
    base::SimTime ready;  // Until it is posted: this or later.
    base::SimTime told;   // It ends then or later, as its rank has heard.
    base::SimTime start = base::SimTime::Max();
    base::SimTime finish;
    std::uint64_t bytes_max = 0;
    bool largest_sends = false;
    std::int32_t largest_peer = 0;
    flow::Spent spent;
  };
  base::Result<void> AddCall(GroupId id, Group& group, const TransferCall& call, Payload sent);
  // The group's values when all its receives have met their sends.
  std::optional<Values> ValuesOf(GroupId id, Group& group);

  std::map<GroupId, Group> groups_;
  std::map<Pair, Sides> pairs_;
  std::map<std::int32_t, NumberSet> done_;
};

}  // namespace eidolon::network::communicator
