// Computes the cost of one collective alone on the fabric: chosen by NCCL's own table (cells.h),
// timed by that table times a measured correction.
#pragma once

#include <span>

#include "services/network/collective/correction.h"
#include "services/network/collective/estimate.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// NCCL's choice, and what it takes by measurement (correction.h). Requires: call.kind is not
// kPointToPoint, whose transfers are costed one by one (point_to_point.h).
Cost CostOf(const Call& call, const Shape& shape);
// The same with curves of one's own.
Cost CostOf(const Call& call, const Shape& shape, std::span<const Curve> curves);

// The same choice with the time of NCCL's own table.
Cost TabledCostOf(const Call& call, const Shape& shape);

}  // namespace eidolon::network::collective
