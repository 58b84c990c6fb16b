// One call of NCCL on its way into the ring.
#pragma once

#include <cstdint>

#include "services/contract/ring/record.h"

namespace eidolon::shim::nccl {

// One call, with its buffers; `op.sequence` and `op.payload_bytes` are filled in when the group
// ends.
struct Operation {
  ring::CommunicationOp op{};
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
};

}  // namespace eidolon::shim::nccl
