// ReduceOp of ATen/native/cuda/Reduce.cuh, the only parameter of reduce_kernel: {the operation and
// its neutral element, ReduceConfig, ..., calculators of the input and the output, ...}. Where the
// parts begin depends on the operation, so that readers look for what must be there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::torch_layout {

// Words of four bytes: {element, inputs, outputs, step_in, step_out, ctas, input_mult[3],
// output_mult[2], block_width, block_height, threads}.
struct ReduceConfig {
  static constexpr std::size_t kInputs = 1;
  static constexpr std::size_t kOutputs = 2;
  static constexpr std::size_t kBlocksPerOutput = 5;
  static constexpr std::size_t kInputMultiple = 6;  // Not 0: lanes of a warp share an output.
  static constexpr std::size_t kOutputMultiple = 9;
  static constexpr std::size_t kBlockWidth = 11;
  static constexpr std::size_t kBlockHeight = 12;
  static constexpr std::size_t kThreads = 13;
  static constexpr std::size_t kBytes = 4 * 14;
  static constexpr std::size_t kOperation = 8;  // Bytes before it, at least.
  static constexpr std::size_t kLatest = 64;    // It begins no later.

  // Returns whether it may begin where `word(i)` is the i-th std::int32_t.
  template <typename Word>
  static bool Fits(const Word& word) {
    const std::int64_t width = word(kBlockWidth);
    const std::int64_t height = word(kBlockHeight);
    return width > 0 && height > 0 && width * height == word(kThreads) && word(kInputs) > 0 &&
           word(kOutputs) > 0;
  }
};

struct ReduceOp {
  // Size behind the calculators: seven words (pointers and an index), two flags and a count.
  static constexpr std::size_t kTail = 7 * 8 + 8;
};

}  // namespace eidolon::torch_layout
