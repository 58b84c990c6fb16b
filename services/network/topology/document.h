// A cluster's description as its owner writes it, YAML; docs/network_topology.md describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/network/topology/cluster.h"

namespace eidolon::network::topology {

// Fails with a sentence that names the field: what YAML cannot read, unknown or repeated fields,
// values of a wrong type or out of range. What the fields mean together is Topology::Make's affair.
base::Result<Cluster> ParseCluster(std::string_view yaml);
base::Result<Cluster> LoadCluster(const std::string& path);

// Known systems by name; ready for `servers` of their own.
base::Result<Cluster> ClusterPreset(std::string_view name);
std::vector<std::string> ClusterPresets();

}  // namespace eidolon::network::topology
