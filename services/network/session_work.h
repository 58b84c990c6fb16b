// What a session's message asks of the simulation.
#pragma once

#include <cstdint>

#include "eidolon/network/v1/network.pb.h"
#include "services/base/error.h"
#include "services/network/cluster_thread.h"

namespace eidolon::network {

// Requires: the message is not a Hello that begins a session. Takes what is large out of the
// message. An error, now or of the work, ends the session.
base::Result<ClusterThread::Work> WorkOf(v1::SessionRequest& request, std::uint64_t job,
                                         std::uint32_t server);

}  // namespace eidolon::network
