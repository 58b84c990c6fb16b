// The simulated cluster: what a SimulatedCluster document says, presets filled in.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "services/contract/cluster/cluster_spec.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

using cluster::ClusterSpec;

// Reads the `spec` of a SimulatedCluster (or a job's inline `cluster`) and finishes the reader.
// `servers_default` counts when the document does not say how many servers there are.
ClusterSpec ReadClusterSpec(Fields* spec, std::uint32_t servers_default);

// The spec as a complete document `spec`: every field, presets resolved.
nlohmann::json ToJson(const ClusterSpec& spec);

}  // namespace eidolon::controller::job
