// The simulated cluster: what a SimulatedCluster document says, presets filled in.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/job/fields.h"
#include "services/network/topology/cluster.h"

namespace eidolon::controller::job {

struct ClusterSpec {
  std::uint32_t servers = 1;
  std::uint32_t gpus_per_server = 0;
  std::string gpu;                      // Name of a GPU model file.
  std::uint32_t nvlink_generation = 0;  // 0: PCIe only.
  bool nvlink_switched = false;
  std::uint32_t nic_count = 0;
  double nic_gigabits_per_second = 0;
  double nic_latency_microseconds = 0;
  double cpu_speed_ratio = 1.0;
  std::uint32_t servers_per_domain = 1;  // Servers that share one NVLink domain (NVL72: 18).
  std::uint32_t host_bridges = 1;        // PCIe only: root complexes the GPUs are spread over.
  network::topology::FabricSpec fabric;
  bool in_network_reduction = false;  // The switches can reduce (SHARP).
  bool slingshot = false;             // Message costs of Slingshot with libfabric.
  std::vector<network::topology::Fault> faults;
  std::vector<network::topology::Background> background;
  std::string driver_version;
  std::string nccl_version;

  bool operator==(const ClusterSpec&) const = default;
};

// Reads the `spec` of a SimulatedCluster (or a job's inline `cluster`) and finishes the reader.
// `servers_default` counts when the document does not say how many servers there are.
ClusterSpec ReadClusterSpec(Fields* spec, std::uint32_t servers_default);

// The spec as a complete document `spec`: every field, presets resolved.
nlohmann::json ToJson(const ClusterSpec& spec);

}  // namespace eidolon::controller::job
