// A communicator as the network sees it: its members, and what they have called and not ended yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/collective/cost.h"
#include "services/network/collective/shape.h"
#include "services/network/collective/traffic.h"
#include "services/network/communicator/collective_table.h"
#include "services/network/communicator/gathering.h"
#include "services/network/communicator/mirrored_ranks.h"
#include "services/network/communicator/route_table.h"
#include "services/network/communicator/row_broadcasts.h"
#include "services/network/communicator/transfer_table.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// A collective on the fabric.
struct Running {
  collective::Cost cost;
  collective::Load load;
  std::optional<base::SimTime> foreseen;  // Its end, which was told.
};
// Communicator of one job, which is not thread-safe.
struct Communicator {
  std::uint64_t id = 0;
  std::string name;
  std::vector<Member> members;
  std::vector<std::uint32_t> servers;  // Of the members, each once, in order.
  std::vector<topology::Place> places;
  // Places where mirrored ranks do what this one does, in communicators of their own: GPUs in rank
  // order.
  std::vector<std::vector<topology::Place>> images;
  collective::Shape shape;
  std::shared_ptr<const MirroredRanks> mirrored_ranks;  // Null: every member has a process.
  std::optional<RowBroadcasts::Row> row;                // Of a folded job's mesh.
  CollectiveTable collectives{0};
  TransferTable transfers;
  // Mirrored ranks that take part in a live member's group, until that group is reached.
  std::map<GroupId, std::vector<std::int32_t>> mirrored_groups;
  std::vector<bool> gone;  // Left, or their server has gone. Who left may still arrive.
  std::size_t gone_count = 0;
  std::optional<std::string> failure;
  std::optional<std::string> wait_in_vain;         // Why members do, for one that has left.
  std::vector<std::uint32_t> split_calls;          // By rank.
  std::map<std::uint32_t, Gathering> splits;       // By ordinal.
  std::map<std::string, Gathering> folded_splits;  // By who meets.
  std::map<std::uint64_t, Running> running;
  RouteTable routes;

  std::string Title() const;
  // Returns whether calls wait in vain for a member that has gone. Its streams still come to what
  // it called before it left (ncclCommAbort does not wait for them), unless its server is
  // `disconnected`.
  bool IsMissing(std::int32_t rank, const std::set<std::uint32_t>& disconnected) const;
  // Returns whether a split waits for a live member.
  bool SplitsWaitFor(std::int32_t rank) const;
  // A gone member that calls wait for.
  std::optional<std::int32_t> GoneAndNeeded(const std::set<std::uint32_t>& disconnected) const;
  bool IsMirrored(std::size_t rank) const {
    return mirrored_ranks != nullptr && mirrored_ranks->IsMirrored(static_cast<std::int32_t>(rank));
  }
};

}  // namespace eidolon::network::communicator
