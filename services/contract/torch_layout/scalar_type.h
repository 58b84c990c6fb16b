// at::ScalarType's numbers, c10/core/ScalarType.h, as kernels of mixed types get them at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace eidolon::torch_layout {

// Bytes of an element; 0 for numbers that kernels never load.
inline std::size_t ScalarTypeBytes(std::uint8_t number) {
  constexpr std::uint8_t kBytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2,
                                     0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1,  2, 4, 8, 0, 0,
                                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 1, 1, 4};
  return number < std::size(kBytes) ? kBytes[number] : 0;
}

// LoadWithCast and StoreWithCast (MemoryAccess.cuh): one-byte numbers of `operands` types, padded
// to 4, then the size of an element of each, 4 bytes.
struct CastTypes {
  std::size_t operands = 0;

  std::size_t Bytes() const { return SizeAt(operands); }
  std::size_t SizeAt(std::size_t operand) const { return (operands + 3) / 4 * 4 + 4 * operand; }
};

}  // namespace eidolon::torch_layout
