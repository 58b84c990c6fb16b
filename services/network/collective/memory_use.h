// What the kernel of a collective reads and writes in the memory of its own GPU, which kernels
// beside it then lack.
//
// NCCL does not move data from one tensor into another. A peer writes into a buffer of NCCL, whose
// kernel reads it there and writes the tensor, or adds what the tensor holds: three bytes of memory
// for each byte that arrives. "300GB/s needs to be multiplied by at least 2x for memory bandwidth,
// as we need to store to memory, then read back from it. If you add reading from or writing to user
// data, it can be 3x" (NCCL's maintainer, github.com/NVIDIA/nccl/issues/1428).
#pragma once

#include <cstdint>

#include "services/network/collective/cells.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// Returns the bytes of each member, or the mean over members where one of them is special. The
// algorithm does not matter: NVLS copies a tensor into the buffer that switches read, or out of the
// one that they write, and so comes to the same three. 0: the job's durations are fixed.
std::uint64_t MemoryBytes(const Call& call, const Shape& shape);

// The same of a member that sends and receives so many bytes point to point.
std::uint64_t TransferMemoryBytes(const Shape& shape, std::uint64_t sent, std::uint64_t received);

}  // namespace eidolon::network::collective
