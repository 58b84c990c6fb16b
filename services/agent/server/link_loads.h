// What crossed this server's links while its timeline was shown, asked of the network service.
#pragma once

#include <vector>

#include "services/agent/client/network_client.h"
#include "services/agent/server/processes.h"
#include "services/agent/server/timeline_file.h"
#include "services/agent/timeline/link_loads.h"
#include "services/base/error.h"

namespace eidolon::agent::server {

// Reads the loads of all that the ranks' tracks show. Waits for the answer, some seconds at most.
// Requires: the sessions are finished, and the client's session is still there.
base::Result<std::vector<timeline::LinkLoad>> ReadLinkLoads(const Processes& processes,
                                                            client::NetworkClient* network);

// Names of the links that its communication has spent time on.
base::Result<LinkNames> ReadLinkNames(const Processes& processes, client::NetworkClient* network);

}  // namespace eidolon::agent::server
