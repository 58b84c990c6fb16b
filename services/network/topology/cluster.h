// Describes a simulated cluster for the network, and the rates that follow from it. Usable rates
// are those that NCCL's topology search counts with, not the vendor's peak.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/cluster/fabric_spec.h"
#include "services/network/topology/fabric.h"

namespace eidolon::network::topology {

// Generations as NCCL's tuning tables tell them apart.
enum class Generation { kVolta, kAmpere, kHopper, kBlackwell };

using cluster::Background;
using cluster::Fault;

struct Cluster {
  std::string name;
  std::uint32_t servers = 1;
  std::uint32_t gpus_per_server = 8;
  std::string gpu;                      // "H100-SXM5-80GB".
  std::uint32_t gpu_compute_major = 0;  // Its compute capability; 0: its name tells.
  std::uint32_t nvlink_generation = 0;  // 0: PCIe only; 2 Volta, 3 Ampere, 4 Hopper, 5 Blackwell.
  bool nvlink_switched = false;
  std::uint32_t nics = 0;  // Per server.
  double nic_gigabits_per_second = 0;
  double nic_latency_microseconds = 0;
  std::string fabric;           // One of cluster::FabricKinds(), "none", "".
  double oversubscription = 1;  // 2: half of the bandwidth above the leaves.
  // Parameters that the fabric's kind needs beyond its name and oversubscription.
  FabricSpec plan;
  // Servers that share one NVLink domain, like the trays of an NVL72 rack.
  std::uint32_t servers_per_domain = 1;
  // PCIe servers: root complexes that the GPUs are spread over. 1: all meet in one.
  std::uint32_t host_bridges = 1;
  bool slingshot = false;             // Message costs of Slingshot with libfabric.
  bool in_network_reduction = false;  // The switches can reduce (SHARP).
  std::vector<Fault> faults;
  std::vector<Background> background;

  bool operator==(const Cluster&) const = default;
};

// A cluster that passed the checks, with what follows from it. Rates are bytes per second and
// direction.
struct Wiring {
  Cluster cluster;
  Generation generation = Generation::kHopper;
  bool nvlink = false;
  std::uint64_t gpu_rate = 0;     // One GPU towards the others of its server, NVLink or PCIe.
  std::uint32_t rails = 0;        // Groups of NICs that serve the same GPUs of each server.
  std::uint64_t rail_rate = 0;    // What large messages reach on the NICs of one rail.
  std::uint64_t line_rate = 0;    // The same NICs' line rate.
  std::uint64_t bridge_rate = 0;  // Between two host bridges of a PCIe server.
};

// Refuses what makes no sense with a sentence that names the field and its value.
base::Result<Wiring> Examine(const Cluster& cluster);

// The generation that NCCL takes a GPU of this compute capability for.
Generation GenerationOf(std::uint32_t compute_major);

// The generation a GPU's name tells, or an error that lists the known ones.
base::Result<Generation> GenerationOf(std::string_view gpu);

}  // namespace eidolon::network::topology
