// NCCL's own table: the latency and the bandwidth it counts for an algorithm and a protocol
// (version 2.30, src/graph/tuning.cc). NCCL chooses by this table; what the choice then takes in
// truth is cost.h's affair.
#pragma once

#include <cstdint>
#include <optional>

#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

struct Call {
  Kind kind = Kind::kAllReduce;
  std::uint64_t bytes = 0;  // Of the large buffer.
};

struct Cell {
  double latency_us = 0;
  double transfer_us = 0;  // Bytes over bandwidth.

  double Total() const { return latency_us + transfer_us; }
};

// Kinds that NCCL has a table for; the others are built of sends and receives.
constexpr bool Tuned(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kAllGather || kind == Kind::kReduceScatter ||
         kind == Kind::kBroadcast || kind == Kind::kReduce;
}

// Nothing where that choice does not exist or the tuning forbids it.
// Requires: Tuned(call.kind), shape.ranks > 1.
std::optional<Cell> CellOf(const Call& call, const Shape& shape, Algorithm algorithm,
                           Protocol protocol);

}  // namespace eidolon::network::collective
