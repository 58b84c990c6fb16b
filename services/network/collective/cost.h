// What one collective costs alone on the fabric: chosen by NCCL's own table (cells.h), timed by
// that table times a measured correction.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/sim_time.h"
#include "services/network/collective/cells.h"
#include "services/network/collective/correction.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

struct Cost {
  base::Duration latency;   // Before bytes flow; no link is occupied.
  base::Duration transfer;  // Bytes over bandwidth.
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  std::uint32_t channels = 1;   // One multiprocessor each.
  float relative_error = 0.3f;  // One standard deviation over the total.

  base::Duration Total() const { return latency + transfer; }
};

// NCCL's choice, and what it takes by measurement (correction.h). Requires: call.kind is not
// kPointToPoint, whose transfers are costed one by one (point_to_point.h).
Cost CostOf(const Call& call, const Shape& shape);
// The same with curves of one's own.
Cost CostOf(const Call& call, const Shape& shape, std::span<const Curve> curves);

// The same choice with the time of NCCL's own table.
Cost TabledCostOf(const Call& call, const Shape& shape);

// Error on published logs that the model was not fitted to, by size and number of servers.
float RelativeError(const Call& call, const Shape& shape);

}  // namespace eidolon::network::collective
