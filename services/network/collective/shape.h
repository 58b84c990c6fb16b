// The shape of a communicator: all that NCCL's cost model knows of its members, and the channels
// that NCCL's topology search finds for such a shape.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "services/network/collective/tuning.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::collective {

// Carriers of messages: between servers a fabric, inside a server without NVLink PCIe. Those with
// message costs of their own have their own correction curves (correction.h).
enum class Transport { kInfiniband, kSlingshot, kPcie };

std::string_view Name(Transport transport);

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
  bool bridged = false;    // A ring crosses host bridges that the cluster names.
  std::uint32_t nics = 0;  // NICs that serve the members of one server.
  double nic_line_rate = 0;
  double hop_extra_us = 0;  // What a network hop takes beyond a usual InfiniBand fabric.
  Transport transport = Transport::kInfiniband;
  bool in_network_reduction = false;  // SHARP: CollNet and NVLS between servers are possible.
  Tuning tuning;

  bool operator==(const Shape&) const = default;
};

// Returns the shape with default tuning. Requires: places is not empty and lies in the topology.
Shape ShapeOf(const topology::Topology& topology, std::span<const topology::Place> places);

// Channels of an algorithm and the rate NCCL gives each.
struct Channels {
  std::uint32_t count = 0;
  double rate = 0;
};

// GB/s that one channel's thread block moves: 37 to 41 on Hopper (nccl-tests' sendrecv), of the
// same order elsewhere.
double ChannelRate(topology::Generation generation);

// Rings and trees share one graph. Limited by the tuning: fewer channels carry what one block can
// drive each, more share what there is.
Channels RingChannels(const Shape& shape);
// count 0: the shape has no NVLS (needs Hopper or later behind NVSwitches, over two GPUs a server).
Channels NvlsChannels(const Shape& shape);

}  // namespace eidolon::network::collective
