// Holds what the members of a folded job's communicators have in common: which of them arrive,
// where the others are, and whose traffic their groups carry.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/contract/folding/fold.h"
#include "services/network/communicator/gathering.h"
#include "services/network/communicator/mirrored_ranks.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// Immutable. Of a job that is not folded, every member arrives.
class FoldedMembers {
 public:
  // Rank r has GPU r % ranks_per_server of server r / ranks_per_server.
  FoldedMembers(folding::Fold fold, std::uint32_t ranks_per_server)
      : fold_(std::move(fold)), ranks_per_server_(ranks_per_server) {}

  bool any() const { return fold_.is_folded(); }
  const folding::Fold& fold() const { return fold_; }
  std::uint32_t ranks_per_server() const { return ranks_per_server_; }

  // Fails when a live member is not where its rank says.
  base::Result<void> Check(const Member& member) const;
  // Gathers the members of a communicator, as the first to arrive names them. Fails when they are
  // not `size`.
  base::Result<Gathering> GatheringOf(std::int32_t size, const Arrival& arrival) const;
  // All members, mirrored ranks included. Requires: everybody who arrives has arrived.
  std::vector<Arrival> Everyone(const Gathering& gathering) const;
  // Null when all members are live. Requires: any; somebody has arrived.
  base::Result<std::shared_ptr<const MirroredRanks>> MirroredRanksOf(
      const Gathering& gathering) const;
  // GPUs of the groups of mirrored ranks that do what `members` do, each in rank order;
  // `placement`: position of each server. None for a group inside of one domain of NVLinks, which
  // loads nothing that others use.
  std::vector<std::vector<topology::Place>> ImagesOf(const topology::Topology& topology,
                                                     std::span<const std::uint32_t> placement,
                                                     std::span<const Member> members) const;

 private:
  folding::Fold fold_;
  std::uint32_t ranks_per_server_;
};

}  // namespace eidolon::network::communicator
