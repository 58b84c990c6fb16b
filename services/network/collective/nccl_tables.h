// The constants of NCCL's own cost model, version 2.30 (src/graph/tuning.cc, ncclTunerConstants).
// Microseconds and GB/s (10^9). Versions since 2.27 share them.
#pragma once

#include <cstdint>

#include "services/network/collective/kind.h"
#include "services/network/topology/cluster.h"

namespace eidolon::network::collective {

// Fixed latency of a call, by algorithm and protocol.
double BaseLatencyUs(Algorithm algorithm, Protocol protocol);

enum class Medium { kNvlink, kPcie, kNetwork };
// Latency of one step over a medium.
double HopLatencyUs(Medium medium, Algorithm algorithm, Protocol protocol);

// Caps of the model, by generation and number of servers (1, 2, more).
double LlMax(topology::Generation generation, std::uint32_t nodes);
double RingLl128PerChannel(topology::Generation generation);
double TreeLl128PerChannel(topology::Generation generation, std::uint32_t nodes);
double TreePerChannel(topology::Generation generation, std::uint32_t nodes);
double NvlsTreePerChannel(topology::Generation generation, std::uint32_t nodes);

double NvlsEfficiency(topology::Generation generation);

// Trees miss the model at middle sizes: factor on their bandwidth.
double TreeCorrection(Protocol protocol, std::uint64_t bytes);

// Time that the host's proxy adds to every step of a ring that spans servers, for hosts with Intel
// CPUs.
inline constexpr double kNetworkOverheadUs = 1.0;

}  // namespace eidolon::network::collective
