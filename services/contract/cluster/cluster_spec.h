// The simulated cluster: what a SimulatedCluster document says, or a file for `eidolon net`, with
// presets filled in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "services/contract/cluster/fabric_spec.h"

namespace eidolon::cluster {

struct ClusterSpec {
  std::uint32_t servers = 1;
  std::uint32_t gpus_per_server = 0;
  std::string gpu;                      // Name of a GPU model file.
  double gpu_clock = 1;                 // Of its multiprocessors, over the model's.
  double gpu_power_limit_watts = 0;     // Of each GPU; 0: the model's.
  std::uint32_t nvlink_generation = 0;  // 0: PCIe only.
  bool nvlink_switched = false;
  std::uint32_t nic_count = 0;
  double nic_gigabits_per_second = 0;
  double nic_latency_microseconds = 0;
  std::string cpu;              // Name of a processor (cpu_model.h).
  bool cpu_is_unknown = false;  // It is the one that servers with this GPU usually have.
  double cpu_speed_ratio = 0;   // Over the simulating machine's; 0: as the processor's model says.
  std::uint32_t servers_per_domain = 1;  // Servers that share one NVLink domain (NVL72: 18).
  std::uint32_t host_bridges = 1;        // PCIe only: root complexes the GPUs are spread over.
  FabricSpec fabric;
  bool in_network_reduction = false;  // The switches can reduce (SHARP).
  bool slingshot = false;             // Message costs of Slingshot with libfabric.
  std::vector<Fault> faults;
  std::vector<Background> background;
  std::string driver_version;
  std::string nccl_version;

  // NICs that serve the same GPUs of each server; at least 1.
  std::uint32_t Rails() const { return std::max(1u, std::min(nic_count, gpus_per_server)); }
  // Servers that NVLink alone does not connect.
  bool NeedsFabric() const { return servers > servers_per_domain; }

  bool operator==(const ClusterSpec&) const = default;
};

}  // namespace eidolon::cluster
