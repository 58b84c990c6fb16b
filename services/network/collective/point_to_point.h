// Sends, receives and the exchanges built of them. NCCL does not give a transfer the line rate but
// a number of channels that follows from the size of the communicator and of the message.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/network/collective/estimate.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

enum class Span { kSameGpu, kSameServer, kBetweenServers };

struct TransferCost {
  base::Duration latency;
  std::uint64_t bytes_per_second = 0;  // What the transfer reaches alone.
  std::uint32_t channels = 1;
  Protocol protocol = Protocol::kSimple;
  float relative_error = 0.15f;
};

// One send and its receive within a communicator of the shape.
TransferCost TransferCostOf(const Shape& shape, Span span, std::uint64_t bytes);

// The same between two GPUs of the communicator.
TransferCost TransferCostBetween(const topology::Topology& topology, const Shape& shape,
                                 const topology::Place& from, const topology::Place& to,
                                 std::uint64_t bytes);

// Returns the time of a transfer between any two members, alone on the fabric.
base::Duration LeastTransferTime(const Shape& shape, std::uint64_t bytes);

// Returns a transfer between some pair of members, alone on the fabric. Where it is not said which,
// the slowest kind of link that the communicator has counts.
Cost CostOfAnyTransfer(const Shape& shape, std::uint64_t bytes);

// All-to-all, gather and scatter as one call: rounds of transfers, bound by a member's ports.
// Requires: shape.ranks > 1.
Cost ExchangeCost(const Call& call, const Shape& shape);

}  // namespace eidolon::network::collective
