// A cluster comes from a user's file, and the model must not crash or run for ever on any of it:
// Examine checks ranges before rates are computed, and each sentence names the field and its
// bounds. Rates are those that NCCL's search counts with, because the choice of an algorithm
// depends on them. Comparisons are written so that NaN fails them.
#include "services/network/topology/cluster.h"

#include <algorithm>
#include <array>
#include <vector>

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Large messages reach 97.8 % of a NIC's line rate: 48.9 GB/s on 400 Gbit/s
// (github.com/xxrjun/nccl-tests-cluster, all_reduce with one NIC per node).
constexpr double kNicEfficiency = 0.978;

struct Named {
  std::string_view part;
  Generation generation;
};

// Parts of GPU names. Longer parts come before the parts they contain.
constexpr std::array<Named, 22> kNames = {{{"RTX-PRO-6000", Generation::kBlackwell},
                                           {"RTX-50", Generation::kBlackwell},
                                           {"RTX-40", Generation::kAmpere},
                                           {"RTX-30", Generation::kAmpere},
                                           {"GB300", Generation::kBlackwell},
                                           {"GB200", Generation::kBlackwell},
                                           {"B300", Generation::kBlackwell},
                                           {"B200", Generation::kBlackwell},
                                           {"B100", Generation::kBlackwell},
                                           {"GH200", Generation::kHopper},
                                           {"H200", Generation::kHopper},
                                           {"H100", Generation::kHopper},
                                           {"H800", Generation::kHopper},
                                           {"H20", Generation::kHopper},
                                           {"A100", Generation::kAmpere},
                                           {"A800", Generation::kAmpere},
                                           {"A30", Generation::kAmpere},
                                           {"A10", Generation::kAmpere},
                                           {"L40", Generation::kAmpere},
                                           {"L4", Generation::kAmpere},
                                           {"V100", Generation::kVolta},
                                           {"T4", Generation::kVolta}}};

// NVLinks of a GPU and the rate NCCL counts for one of them, GB/s and direction: Volta 6 x 20,
// Ampere 12 x 20, Hopper 18 x 20.6, Blackwell 18 x 40.1 (NCCL 2.30 src/graph/topo.h, rounded).
Result<double> NvlinkGigabytes(std::uint32_t generation) {
  switch (generation) {
    case 2:
      return 120.0;
    case 3:
      return 240.0;
    case 4:
      return 370.0;
    case 5:
      return 722.0;
    default:
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("nvlink generation ", generation,
                         " is unknown; 0 (PCIe only), 2, 3, 4 and 5 are known"));
  }
}

// NCCL counts 12 GB/s for a Gen3 x16 slot; each generation doubles it.
double PcieGigabytes(Generation generation) {
  switch (generation) {
    case Generation::kVolta:
      return 12;
    case Generation::kAmpere:
      return 24;
    case Generation::kHopper:
    case Generation::kBlackwell:
      return 48;
  }
  return 12;
}

// NCCL counts these for the way between two root complexes (src/graph/topo.h): 10 GB/s before Ice
// Lake's successors, 22 after.
double BridgeGigabytes(Generation generation) {
  const bool late = generation == Generation::kHopper || generation == Generation::kBlackwell;
  return late ? 22 : 10;
}

Result<void> CheckFabric(const Cluster& cluster) {
  if (cluster.fabric != "none" && !cluster.fabric.empty()) return {};
  if (cluster.servers > cluster.servers_per_domain) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric 'none' connects one server, but the cluster has ", cluster.servers));
  }
  return {};
}

std::unexpected<base::Error> OutOfRange(std::string_view field, double value, double least,
                                        double most) {
  return Fail(ErrorCode::kInvalidArgument,
              StrCat(field, " is ", value, "; it must be between ", least, " and ", most));
}

// NaN is outside of every range.
bool Within(double value, double least, double most) { return value >= least && value <= most; }

Result<void> CheckEvents(const Cluster& cluster) {
  if (cluster.faults.size() > cluster::kEventsMax ||
      cluster.background.size() > cluster::kEventsMax) {
    return Fail(
        ErrorCode::kInvalidArgument,
        StrCat("fabric.faults and fabric.background hold at most ", cluster::kEventsMax, " each"));
  }
  for (const Fault& fault : cluster.faults) {
    if (!Within(fault.at_seconds, 0, cluster::kFaultSecondsMax)) {
      return OutOfRange("fabric.faults: atSeconds", fault.at_seconds, 0, cluster::kFaultSecondsMax);
    }
    if (!Within(fault.capacity_factor, 0, 1)) {
      return OutOfRange("fabric.faults: capacityFactor", fault.capacity_factor, 0, 1);
    }
  }
  for (const Background& traffic : cluster.background) {
    const double line = cluster.nic_gigabits_per_second * cluster.nics;
    if (!Within(traffic.gigabits_per_second, 0.001, line)) {
      return OutOfRange("fabric.background: gbps", traffic.gigabits_per_second, 0.001, line);
    }
    if (!Within(traffic.weight, 1, cluster::kWeightMax)) {
      return OutOfRange("fabric.background: weight", traffic.weight, 1, cluster::kWeightMax);
    }
    if (traffic.from >= cluster.servers || traffic.to >= cluster.servers ||
        traffic.from == traffic.to) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("fabric.background goes from server ", traffic.from, " to server ",
                         traffic.to, "; it needs two of the cluster's ", cluster.servers));
    }
  }
  return {};
}

Result<void> CheckRanges(const Cluster& cluster) {
  if (!Within(cluster.servers, 1, cluster::kServersMax)) {
    return OutOfRange("servers", cluster.servers, 1, cluster::kServersMax);
  }
  if (!Within(cluster.gpus_per_server, 1, cluster::kGpusPerServerMax)) {
    return OutOfRange("gpus_per_server", cluster.gpus_per_server, 1, cluster::kGpusPerServerMax);
  }
  const std::uint64_t gpus = std::uint64_t{cluster.servers} * cluster.gpus_per_server;
  if (gpus > cluster::kGpusMax) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("the cluster has ", gpus, " GPUs; at most ",
                                                    cluster::kGpusMax, " are simulated"));
  }
  if (!Within(cluster.servers_per_domain, 1, cluster::kServersPerDomainMax)) {
    return OutOfRange("serversPerDomain", cluster.servers_per_domain, 1,
                      cluster::kServersPerDomainMax);
  }
  if (cluster.servers_per_domain > 1 && !cluster.nvlink_switched) {
    return Fail(ErrorCode::kInvalidArgument,
                "an NVLink domain of several servers needs switched NVLink");
  }
  if (!Within(cluster.host_bridges, 1, cluster.gpus_per_server)) {
    return OutOfRange("hostBridges", cluster.host_bridges, 1, cluster.gpus_per_server);
  }
  const bool networked = cluster.servers > cluster.servers_per_domain;
  if (!Within(cluster.nics, networked ? 1 : 0, cluster::kNicsMax)) {
    return OutOfRange("nics.count", cluster.nics, networked ? 1 : 0, cluster::kNicsMax);
  }
  if (cluster.nics > 0 && !Within(cluster.nic_gigabits_per_second, 0.1, cluster::kNicGigabitsMax)) {
    return OutOfRange("nics.gigabits_per_second", cluster.nic_gigabits_per_second, 0.1,
                      cluster::kNicGigabitsMax);
  }
  if (!Within(cluster.nic_latency_microseconds, 0, cluster::kLatencyMicrosecondsMax)) {
    return OutOfRange("nics.latency_microseconds", cluster.nic_latency_microseconds, 0,
                      cluster::kLatencyMicrosecondsMax);
  }
  if (!Within(cluster.oversubscription, 1, cluster::kOversubscriptionMax)) {
    return OutOfRange("fabric.oversubscription", cluster.oversubscription, 1,
                      cluster::kOversubscriptionMax);
  }
  return {};
}

}  // namespace

// NCCL 2.30 src/graph/tuning.cc: below 8.0 Volta's constants, below 9.0 Ampere's, and so on.
Generation GenerationOf(std::uint32_t compute_major) {
  if (compute_major >= 10) return Generation::kBlackwell;
  if (compute_major == 9) return Generation::kHopper;
  return compute_major == 8 ? Generation::kAmpere : Generation::kVolta;
}

Result<Generation> GenerationOf(std::string_view gpu) {
  for (const Named& named : kNames) {
    if (gpu.find(named.part) != std::string_view::npos) return named.generation;
  }
  std::vector<std::string> known;
  for (const Named& named : kNames) known.emplace_back(named.part);
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("the network model does not know GPU '", gpu, "'; it knows names with ",
                     base::Join(known, ", ")));
}

Result<Wiring> Examine(const Cluster& cluster) {
  if (auto checked = CheckRanges(cluster); !checked) return std::unexpected(checked.error());
  Wiring wiring{.cluster = cluster};
  if (cluster.gpu_compute_major > 0) {
    wiring.generation = GenerationOf(cluster.gpu_compute_major);
  } else {
    const auto named = GenerationOf(cluster.gpu);
    if (!named) return std::unexpected(named.error());
    wiring.generation = *named;
  }
  if (auto fabric = CheckFabric(cluster); !fabric) return std::unexpected(fabric.error());
  if (auto events = CheckEvents(cluster); !events) return std::unexpected(events.error());
  wiring.nvlink = cluster.nvlink_generation > 0;
  double gigabytes = PcieGigabytes(wiring.generation);
  if (wiring.nvlink) {
    auto nvlink = NvlinkGigabytes(cluster.nvlink_generation);
    if (!nvlink) return std::unexpected(nvlink.error());
    gigabytes = *nvlink;
  }
  wiring.gpu_rate = static_cast<std::uint64_t>(gigabytes * 1e9);
  wiring.bridge_rate = static_cast<std::uint64_t>(BridgeGigabytes(wiring.generation) * 1e9);
  if (cluster.nics > 0) {
    wiring.rails = std::min(cluster.nics, cluster.gpus_per_server);
    const double line = cluster.nic_gigabits_per_second * 1e9 / 8 * cluster.nics / wiring.rails;
    wiring.line_rate = static_cast<std::uint64_t>(line);
    wiring.rail_rate = static_cast<std::uint64_t>(line * kNicEfficiency);
  }
  return wiring;
}

}  // namespace eidolon::network::topology
