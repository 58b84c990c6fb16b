// The shape of a communicator: all that NCCL's cost model knows of its members, and the channels
// that NCCL's topology search finds for such a shape.
#pragma once

#include <cstdint>
#include <span>

#include "services/network/topology/topology.h"

namespace eidolon::network::collective {

// Rates in GB/s (10^9) and direction.
struct Shape {
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::uint32_t local_min = 1;  // Members of the server with the fewest.
  std::uint32_t local_max = 1;
  topology::Generation generation = topology::Generation::kHopper;
  bool nvlink = false;
  bool switched = false;
  double gpu_rate = 0;
  std::uint32_t nics = 0;  // NICs that serve the members of one server.
  double nic_line_rate = 0;
  double hop_extra_us = 0;  // What a network hop takes beyond a usual InfiniBand fabric.

  bool operator==(const Shape&) const = default;
};

// Requires: places is not empty and lies in the topology.
Shape ShapeOf(const topology::Topology& topology, std::span<const topology::Place> places);

// Channels of an algorithm and the rate NCCL gives each.
struct Channels {
  std::uint32_t count = 0;
  double rate = 0;
};

// Rings and trees share one graph.
Channels RingChannels(const Shape& shape);
// count 0: the shape has no NVLS (needs Hopper or later behind NVSwitches, over two GPUs a server).
Channels NvlsChannels(const Shape& shape);

}  // namespace eidolon::network::collective
