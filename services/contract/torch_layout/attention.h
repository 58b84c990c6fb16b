// Argument structures of the attention kernels in PyTorch, of which only a run of neighbouring
// words is known: where it begins moves from release to release, so that readers look for one that
// fits the grid. Words of four bytes, counted from the first of the run.
#pragma once

#include <cstddef>

namespace eidolon::torch_layout {

// Flash_fwd_params of pytorch_flash: int b, seqlen_q, seqlen_k, seqlen_knew, d. A kernel for one
// head size does not read d.
struct FlashSizes {
  static constexpr std::size_t kBatch = 0;
  static constexpr std::size_t kQueries = 1;
  static constexpr std::size_t kKeys = 2;
  static constexpr std::size_t kNewKeys = 3;
  static constexpr std::size_t kHeadSize = 4;
  static constexpr std::size_t kBytes = 4 * 5;
  // Bytes of the block that the run may begin and end at. FlashHeads lies before it, whose three
  // words look like a run of a batch, queries and keys.
  static constexpr std::size_t kEarliest = 112;
  static constexpr std::size_t kEnd = 512;
};

// The front of the same structure: three pointers, nine strides, then int h, h_k, h_h_k_ratio.
struct FlashHeads {
  static constexpr std::size_t kHeads = 96;
  static constexpr std::size_t kGroup = 104;  // h_h_k_ratio: heads that share keys and values.
};

// Params of PyTorchMemEffAttention's kernels: int head_dim, head_dim_value, num_queries, num_keys;
// num_heads follows in those for the backward pass.
struct MemoryEfficientSizes {
  static constexpr std::size_t kHeadSize = 0;
  static constexpr std::size_t kValueHeadSize = 1;
  static constexpr std::size_t kQueries = 2;
  static constexpr std::size_t kKeys = 3;
  static constexpr std::size_t kBackwardHeads = 4;
  static constexpr std::size_t kMask = 5;  // A byte: 0 none, 1 and 2 causal.
  static constexpr std::size_t kBytes = 4 * 6;
  static constexpr std::size_t kEarliest = 32;
  static constexpr std::size_t kEnd = 512;
};

}  // namespace eidolon::torch_layout
