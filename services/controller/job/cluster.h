// The simulated cluster: what a SimulatedCluster document says, presets filled in.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

// A link that gets slower, fails (0) or recovers (1).
struct LinkFault {
  double at_seconds = 0;
  std::string link;
  double capacity_factor = 1;
  bool operator==(const LinkFault&) const = default;
};

// Traffic of others between the cards of two servers.
struct BackgroundTraffic {
  std::uint32_t from = 0, to = 0;
  std::uint32_t rail = 0;
  double gigabits_per_second = 0;
  bool operator==(const BackgroundTraffic&) const = default;
};

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
  std::uint32_t spines = 0;  // Links of a leaf that static routing tells apart; 0: adaptive.
  std::vector<LinkFault> faults;
  std::vector<BackgroundTraffic> background;
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
