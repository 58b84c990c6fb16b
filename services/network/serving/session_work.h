// Work that a session's message requests of the simulation.
#pragma once

#include <cstdint>

#include "eidolon/network/v1/network.pb.h"
#include "services/base/error.h"
#include "services/network/simulation/simulation.h"

namespace eidolon::network::serving {

// Does what the message of this server's session asks, a batch in order up to the first error.
// Takes what is large out of the message. An error is the agent's and ends the session. Requires:
// the session is connected.
base::Result<void> Do(v1::SessionRequest& request, std::uint64_t job, std::uint32_t server,
                      simulation::Simulation& simulation);

}  // namespace eidolon::network::serving
