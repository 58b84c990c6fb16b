// Shapes that tests share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/check.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// The first `members` GPUs of each of `nodes` NVSwitch servers with eight 400 Gbit/s NICs.
inline Shape SwitchedShape(std::uint32_t nodes, std::uint32_t members,
                           const std::string& gpu = "H100", std::uint32_t nvlink = 4) {
  const auto topology = topology::Topology::Make({.name = "test",
                                                  .servers = nodes,
                                                  .gpus_per_server = 8,
                                                  .gpu = gpu,
                                                  .nvlink_generation = nvlink,
                                                  .nvlink_switched = true,
                                                  .nics = 8,
                                                  .nic_gigabits_per_second = 400,
                                                  .nic_latency_microseconds = 0,
                                                  .fabric = nodes > 1 ? "rail-optimised" : "none",
                                                  .oversubscription = 1});
  CHECK(topology.has_value());
  std::vector<topology::Place> places;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t gpu_at = 0; gpu_at < members; ++gpu_at) places.push_back({node, gpu_at});
  }
  return ShapeOf(*topology, places);
}

inline Shape H100(std::uint32_t nodes, std::uint32_t members) {
  return SwitchedShape(nodes, members);
}

}  // namespace eidolon::network::collective
