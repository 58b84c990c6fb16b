// The cluster that tests of the simulation share.
#pragma once

#include <cstdint>

#include "services/network/topology/topology.h"

namespace eidolon::network::simulation {

// NVSwitch servers of four GPUs with four 400 Gbit/s NICs.
inline topology::Topology H100(std::uint32_t servers, double oversubscription = 1) {
  return *topology::Topology::Make({.name = "c",
                                    .servers = servers,
                                    .gpus_per_server = 4,
                                    .gpu = "H100-SXM5-80GB",
                                    .nvlink_generation = 4,
                                    .nvlink_switched = true,
                                    .nics = 4,
                                    .nic_gigabits_per_second = 400,
                                    .nic_latency_microseconds = 0,
                                    .fabric = servers > 1 ? "rail-optimised" : "none",
                                    .oversubscription = oversubscription});
}

}  // namespace eidolon::network::simulation
