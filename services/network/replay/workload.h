// Workloads made in the program, for measuring the flow engine at the size of large clusters:
// servers of 8 GPUs with a 400 Gbit/s NIC each, one leaf for 32 servers of a rail, no
// oversubscription.
#pragma once

#include <cstdint>

#include "services/network/replay/flow_file.h"

namespace eidolon::network::replay {

constexpr std::uint64_t kNicRate = 50'000'000'000;  // Bytes a second.

struct WorkloadSize {
  std::uint32_t gpus = 8192;  // A multiple of 8.
  std::uint32_t rounds = 8;   // Flows of a NIC, one after another.
};

// Rings of 32 servers on each rail, one flow a NIC towards the next server; a NIC's next flow
// starts when its last one ends. Sizes differ, so flows end one by one.
FlowFile RailRings(const WorkloadSize& size);

// The same, each flow towards a NIC drawn at random on its rail.
FlowFile RandomPairs(const WorkloadSize& size);

}  // namespace eidolon::network::replay
