// Blocks of PyTorch's allocator and what its optimizer keeps in them, for the counters of a
// timeline. The shim tells them only while the agent wants them (Cursors::wants_timeline). They
// cost the program nothing.
#pragma once

#include <cstdint>

#include "services/contract/ring/record_header.h"

namespace eidolon::ring {

// kMemoryBlock: the allocator gave a block to the program, or took it back.
struct MemoryBlockRecord {
  RecordHeader header;
  std::uint64_t address;
  std::int64_t bytes;  // Below zero: taken back.
  // 1: taken back by a backward pass, for which the forward pass kept it.
  std::uint32_t is_activation;
  std::uint32_t reserved;
};

enum class TensorRole : std::uint32_t { kParameter, kGradient, kOptimizerState, kCount };

struct OptimizerTensor {
  std::uint64_t address;
  std::uint64_t bytes;
  TensorRole role;
  std::uint32_t reserved;
};

// kOptimizerTensors: a kernel that was launched works on them. OptimizerTensor[count] follow.
struct OptimizerTensorsRecord {
  RecordHeader header;
  std::uint32_t count;
  std::uint32_t reserved;
};

}  // namespace eidolon::ring
