// Which links a collective occupies, and how much of each while it runs at full speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/network/collective/cost.h"
#include "services/network/flow/transfer.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::collective {

struct Load {
  Kind kind = Kind::kAllReduce;
  std::uint64_t bytes = 0;
  std::uint32_t root = 0;  // Index into places, for kinds with a root.
  bool pxn = true;         // All-to-all: traffic for another rail goes by NVLink first.
};

// The links of one collective in link order, each with the bytes per second that pass over it while
// the collective takes exactly cost.transfer. Never more than the capacity of a GPU's port, bridge
// or NIC: costs are measured on servers with those. Links of the fabric can be too narrow
// (oversubscription, queue pairs that meet, slow cables), and then it takes longer, even alone.
std::vector<flow::LinkUse> TrafficOf(const topology::Topology& topology,
                                     std::span<const topology::Place> places, const Load& load,
                                     const Cost& cost);

// The links of one transfer at `bytes_per_second`, or what the servers' links carry; none within
// one GPU.
std::vector<flow::LinkUse> TrafficBetween(const topology::Topology& topology, topology::Place from,
                                          topology::Place to, std::uint64_t bytes_per_second);

// Returns what bytes take alone that would take `transfer` if every link were wide enough for
// `uses`.
base::Duration TimeOver(const topology::Topology& topology, std::span<const flow::LinkUse> uses,
                        base::Duration transfer);

}  // namespace eidolon::network::collective
