// A proof that shares are max-min fair, which does not ask how they were found: what Bertsekas and
// Gallager's bottleneck condition demands of every flow.
#pragma once

#include "services/network/flow/flow_table.h"

namespace eidolon::network::flow {

// True when every flow is at its cap or crosses a full link on which nobody is faster, and no link
// carries more than its capacity, all to `tolerance` (relative).
bool Certified(const FlowTable& table, double tolerance);

}  // namespace eidolon::network::flow
