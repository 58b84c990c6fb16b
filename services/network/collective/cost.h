// What one collective costs alone on the fabric, chosen and timed as NCCL's own cost model does:
// latency + bytes / bandwidth for every algorithm and protocol, and the least wins.
#pragma once

#include <cstdint>
#include <optional>

#include "services/base/sim_time.h"
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

struct Call {
  Kind kind = Kind::kAllReduce;
  std::uint64_t bytes = 0;  // Of the large buffer.
};

// The best choice. Requires: call.kind is not kPointToPoint, whose transfers are costed one by one
// (point_to_point.h).
Cost CostOf(const Call& call, const Shape& shape);

// One cell of NCCL's table; nothing where that choice does not exist. For kinds that NCCL tunes.
std::optional<Cost> CellOf(const Call& call, const Shape& shape, Algorithm algorithm,
                           Protocol protocol);

// Error of the unfitted model, measured against published logs of nccl-tests by size and number of
// servers.
float RelativeError(const Call& call, const Shape& shape);

}  // namespace eidolon::network::collective
