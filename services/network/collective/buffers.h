// Device memory and start-up time of a communicator.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// Device memory NCCL holds for one rank of a communicator.
std::uint64_t BufferBytes(const Shape& shape);

// Multiprocessors that one large collective of the communicator occupies.
std::uint32_t BlocksOf(const Shape& shape);

// ncclCommInitRank and ncclCommSplit from the last member's arrival on. Assumed: published start-up
// times scatter by a factor of two.
base::Duration InitTime(std::uint32_t ranks);
base::Duration SplitTime(std::uint32_t ranks);

}  // namespace eidolon::network::collective
