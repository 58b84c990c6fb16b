// Words of fluid traffic: what moves, over which links, and how fast it would be alone.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_spec.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::flow {

// The sum for times that may be as late as Max(), which stays. Requires: the duration is not
// negative.
constexpr base::SimTime Later(base::SimTime time, base::Duration duration) {
  const std::int64_t room = base::SimTime::Max().ps - time.ps;
  return duration.ps > room ? base::SimTime::Max() : base::SimTime{time.ps + duration.ps};
}

// One link and the bytes per second that pass over it while the transfer runs at full speed.
struct LinkUse {
  topology::LinkIndex link = 0;
  std::uint64_t bytes_per_second = 0;
  bool operator==(const LinkUse&) const = default;
};

// The identity of a transfer, made of its meaning alone. Events of one instant happen in this
// order, so a result never depends on the order in which transfers were made known.
struct TransferKey {
  std::uint64_t job = 0;
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::uint32_t image =
      0;  // Of a folded job: the number of the group of mirrored ranks that does the same.
  std::uint32_t from = 0;  // Point to point: sender and receiver.
  std::uint32_t to = 0;
  bool point_to_point = false;
  auto operator<=>(const TransferKey&) const = default;
};

// The links of a transfer: none twice, every use positive; null: none. Shared, because a program
// moves the same bytes between the same GPUs again and again, over up to tens of thousands of
// links.
using LinkUses = std::shared_ptr<const std::vector<LinkUse>>;

inline LinkUses ShareUses(std::vector<LinkUse> uses) {
  return uses.empty() ? nullptr : std::make_shared<const std::vector<LinkUse>>(std::move(uses));
}

// A collective is one transfer over many links: all its parts progress together, as the neighbours
// of a ring do.
struct Transfer {
  TransferKey key;
  base::SimTime start;
  base::Duration latency;    // Passes before any link is used.
  base::Duration alone;      // What the bytes then take on links that are wide enough.
  std::uint32_t weight = 1;  // Channels: competitors share a link by weight.
  LinkUses uses;

  std::span<const LinkUse> Links() const {
    return uses == nullptr ? std::span<const LinkUse>() : std::span(*uses);
  }
};

// Parts of a transfer's time; together exactly from its start to its finish.
//
// A transfer that a full link holds below its own speed spends that time on the link. At its own
// speed it spends on the link that it fills most as long as its bytes need there at the link's full
// width, and the rest at NCCL's pace: chunks, pipelines and channels that do not fill a link.
struct Spent {
  base::Duration latency;
  base::Duration pace;
  std::vector<LinkTime> links;  // In the order of the tiers, then of the links; none is empty.
};

}  // namespace eidolon::network::flow
