// PyTorch's OffsetCalculator, which turns a number into places in tensors of up to 25 dimensions
// and leaves those that the tensors do not have to chance: {int dims; {divisor, m1, shift}
// sizes[25]; uint32 strides[25][operands]}, aten/src/ATen/cuda/detail/OffsetCalculator.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace eidolon::torch_layout {

// One calculator at a place of a parameter block.
struct OffsetCalculator {
  static constexpr std::size_t kDimensions = 25;
  static constexpr std::size_t kStrides = 4 + 12 * kDimensions;  // Where they begin.

  std::uint32_t offset = 0;
  std::uint32_t operands = 0;
  std::uint32_t padding = 0;  // Bytes behind it that nothing stands in.

  static constexpr std::size_t Bytes(std::size_t operands) {
    return kStrides + 4 * kDimensions * operands;
  }
  // Returns where pointers behind it stand.
  static constexpr std::size_t AlignedBytes(std::size_t operands) {
    return (Bytes(operands) + 7) / 8 * 8;
  }
  // Places from its beginning.
  static constexpr std::size_t SizeAt(std::size_t dimension) { return 4 + 12 * dimension; }
  std::size_t StrideAt(std::size_t dimension, std::size_t operand) const {
    return kStrides + 4 * (dimension * operands + operand);
  }
  // True when the dimensions that are there divide as dividers do: it is a calculator.
  bool Fits(const std::byte* block) const;
  // Zeroes the padding and the dimensions that are not there. Requires: Fits().
  void ClearUnused(std::byte* block) const;
};

// Ways in which a kernel gets its calculators.
enum class CalculatorUse : std::uint8_t {
  kNone,
  kParameters,  // Parameters of their own.
  kLambda,      // At the front of what an element-wise lambda captures, pointers behind it.
  kIndex,       // At the front of what an indexing lambda captures.
  kReduction,   // Inside of a ReduceOp: one for the input, one for the output.
};
CalculatorUse CalculatorUseOf(std::string_view name);

// A parameter of a block, and how the reader tells device addresses from other words.
struct CalculatorPlace {
  const std::byte* block = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool (*is_address)(std::uint64_t word) = nullptr;
};

// The calculators in a parameter, which holds them whole; none when what is there does not look
// like them.
std::vector<OffsetCalculator> FindCalculators(CalculatorUse use, const CalculatorPlace& place);

}  // namespace eidolon::torch_layout
