// The simulated cluster: what a SimulatedCluster document says, presets filled in.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/job/fields.h"

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
  std::string fabric_preset;
  double oversubscription = 1.0;
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
