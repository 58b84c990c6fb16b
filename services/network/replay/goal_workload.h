// The workloads that flow simulators are compared on (bench/generate.py makes them as files, with
// another generator of random numbers): rings and all-to-alls of collectives, random pairs and
// Poisson arrivals on fat trees. Links are full duplex cables; no latency.
#pragma once

#include <cstdint>

#include "services/network/replay/flow_file.h"

namespace eidolon::network::replay {

struct RingSize {
  std::uint32_t gpus = 64;     // A multiple of 8, at least 16.
  std::uint32_t channels = 1;  // 1 to 8; channel c crosses between servers on rail c.
  std::uint64_t bytes = std::uint64_t{1} << 30;
};

// A ring all-reduce on a rail-optimised fabric, step by step: each step's flow of a GPU waits for
// the step before of itself and of its neighbour.
FlowFile StepRing(const RingSize& size);
// The same bytes as one flow for each GPU and channel.
FlowFile FluidRing(const RingSize& size);

// Every host sends to every other at once; racks of 8, a cloud above. `staggered`: sizes of 0.5 to
// 1.5 MB, so that flows end one by one, else 1 MB each.
FlowFile AllToAll(std::uint32_t hosts, bool staggered);

struct TreeTraffic {
  std::uint32_t k = 16;  // Switch ports: k^3 / 4 hosts of 100 Gbit/s.
  std::uint32_t flows = 10'000;
  bool ecmp = false;  // Parallel links apart and a way by hash, else one trunk a tier.
};

// Flows of 0.5 to 1.5 MB between random pairs, all at once.
FlowFile RandomFlows(const TreeTraffic& traffic);
// Poisson arrivals at half load; sizes follow the web-search distribution (DCTCP, SIGCOMM 2010).
FlowFile PoissonFlows(const TreeTraffic& traffic);

}  // namespace eidolon::network::replay
