// Draws what crossed a server's links as counters of its process in the trace.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/agent/timeline/trace_writer.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::timeline {

// One direction of a link: from each moment on, so many bytes per second.
struct LinkLoad {
  std::string name;  // "NIC 3 out".
  std::vector<std::pair<base::SimTime, std::uint64_t>> changes;
};

// A link that nothing crosses has no track. Requires: the server's process is in the trace, and the
// changes of each link come in order of time, none behind `end`.
void RenderLinkLoads(std::uint32_t server, const std::vector<LinkLoad>& loads, base::SimTime end,
                     TraceWriter* writer);

}  // namespace eidolon::agent::timeline
