// Estimates one collective alone on the fabric: its time, how NCCL does it, and the error of both.
// Algorithms (cost.h) and exchanges of transfers (point_to_point.h) are costed by different rules,
// with one answer.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/network/collective/cells.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// Longer than any simulation, and short enough to be added to.
constexpr double kSecondsMax = 4e6;

struct Cost {
  base::Duration latency;   // Before bytes flow; no link is occupied.
  base::Duration transfer;  // Bytes over bandwidth.
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;   // One multiprocessor each.
  float relative_error = 0.3f;  // One standard deviation over the total.
  // Least time that it takes, whatever else is on the links and whatever fails or recovers, if the
  // links' rates are known; else nothing.
  base::Duration at_least;
  // Of memory_use.h, in a GPU of a member; 0: nothing that others would notice.
  std::uint64_t memory_bytes = 0;

  base::Duration Total() const { return latency + transfer; }
};

// Error on published logs that the model was not fitted to, by size and number of servers.
float RelativeError(const Call& call, const Shape& shape);

}  // namespace eidolon::network::collective
