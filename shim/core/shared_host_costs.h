// The memory in which the processes of one emulated server tell each other what their host work
// costs (services/contract/ring/shared_host_costs.h).
#pragma once

#include "services/contract/ring/shared_host_costs.h"

namespace eidolon::shim::core {

// Maps the rows of $EIDOLON_RUN_DIR/host.costs; they stay mapped. nullptr where the agent made
// none. Called once, by the session.
ring::SharedHostCost* MapSharedHostCosts() noexcept;

}  // namespace eidolon::shim::core
