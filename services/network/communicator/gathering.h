// Meeting of the members of a new communicator: by unique id, or by splitting a parent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::network::communicator {

// A member of a communicator: where it runs.
struct Member {
  std::int32_t global_rank = 0;
  std::uint32_t server = 0;  // Of the job.
  std::uint32_t device = 0;
  bool operator==(const Member&) const = default;
};

// A rank that enters ncclCommInitRank or ncclCommSplit.
struct Arrival {
  std::uint64_t request = 0;  // Of its session.
  Member member;
  std::int32_t rank = 0;   // In the communicator to be; of a split, in the parent.
  std::int32_t color = 0;  // Split only.
  std::int32_t key = 0;
  base::SimTime ready;
  std::string name;
  // Ordinal of this arrival among those of its device in the job: gives communicators numbers that
  // do not depend on the order of arrival in real time.
  std::uint32_t ordinal = 0;
  // Folded jobs: all members' global ranks, in the order of the communicator to be.
  std::vector<std::uint32_t> members;
};

// Arrivals of one unique id. Not thread safe.
class Gathering {
 public:
  explicit Gathering(std::int32_t size)
      : Gathering(std::vector<bool>(static_cast<std::size_t>(size))) {}
  // Requires: the mirrored ranks, which will not enter, by rank.
  explicit Gathering(std::vector<bool> mirrored_ranks)
      : arrivals_(mirrored_ranks.size()),
        callers_(static_cast<std::int32_t>(std::ranges::count(mirrored_ranks, false))),
        mirrored_ranks_(std::move(mirrored_ranks)) {}

  // True once all callers are there. Fails on a rank out of range, taken, of another size, or with
  // other members.
  base::Result<bool> Enter(std::int32_t size, Arrival arrival);
  std::int32_t size() const { return static_cast<std::int32_t>(arrivals_.size()); }
  // Returns them in rank order; empty where a rank is missing.
  const std::vector<std::optional<Arrival>>& arrivals() const { return arrivals_; }
  bool IsMirrored(std::size_t rank) const { return mirrored_ranks_[rank]; }
  // When the last of those that have entered did.
  base::SimTime LatestReady() const;
  // Folded jobs: the live rank is a member and has not entered.
  bool WaitsFor(std::uint32_t global_rank) const;

 private:
  std::vector<std::optional<Arrival>> arrivals_;
  std::int32_t callers_;
  std::vector<bool> mirrored_ranks_;
  std::int32_t present_ = 0;
};

// NCCL's rule that no two ranks of a communicator share a GPU: fails naming two that do.
base::Result<void> CheckDistinct(const std::vector<Arrival>& arrivals);

// A group that a split makes, in its new rank order.
struct SplitGroup {
  std::int32_t color = 0;
  std::vector<Arrival> arrivals;
};

// NCCL's rule: members of one colour, ordered by key, then by rank in the parent. Members with a
// negative colour belong to no group. Groups come in order of colour.
std::vector<SplitGroup> SplitByColor(const std::vector<std::optional<Arrival>>& arrivals);

}  // namespace eidolon::network::communicator
