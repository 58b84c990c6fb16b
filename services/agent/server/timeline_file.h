// The timeline of one server, and its ranks' traces for the critical path: files in its run
// directory, which the controller puts behind those of the other servers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/agent/cost/cost_cache.h"
#include "services/agent/server/job_parts.h"
#include "services/agent/server/processes.h"
#include "services/agent/timeline/link_loads.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::server {

// Span from the first moment to the last that any rank's tracks show.
struct ShownTime {
  base::SimTime start;
  base::SimTime finish;
};
// None: no rank shows anything. Requires: the sessions are finished.
std::optional<ShownTime> TimeShown(const Processes& processes);

// The links that communication of shown ranks has spent time on, as the network service's numbers
// + 1. Requires: the same.
std::set<std::uint32_t> LinksShown(const Processes& processes);

// Names of links by those numbers.
using LinkNames = std::map<std::uint32_t, std::string>;

// Writes <run_directory>/timeline.pftrace with the tracks of every rank that the job wants to see,
// and what crossed the server's links. Requires: the sessions are finished, and the job wants a
// timeline.
base::Result<void> WriteTimeline(const JobParts& job, const Processes& processes,
                                 const cost::CostCache& costs,
                                 const std::vector<timeline::LinkLoad>& loads);

// Writes <run_directory>/critical_path with the traces of the same ranks. Requires: the same.
base::Result<void> WriteTraces(const JobParts& job, const Processes& processes,
                               const cost::CostCache& costs, const LinkNames& link_names);

}  // namespace eidolon::agent::server
