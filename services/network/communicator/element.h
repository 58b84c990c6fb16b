// NCCL's element types: their sizes, names, and the exact values of the small floating-point ones.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::network::communicator {

// ncclDataType_t's numbers.
enum ElementType : std::uint32_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8E4m3 = 10,
  kFloat8E5m2 = 11,
};

// 0 for a number that names no type.
std::uint32_t ElementBytes(std::uint32_t type);
// "float32"; "type 99" is "unknown".
std::string_view ElementName(std::uint32_t type);

// A binary floating-point format of at most 16 bits.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  bool infinities;  // False: the top exponent holds numbers, all ones is NaN (E4M3).
  bool saturates;   // Too large numbers become the largest, as CUDA's conversions to 8 bits do.
};
inline constexpr SmallFloat kHalf = {5, 10, true, false};
inline constexpr SmallFloat kBrain = {8, 7, true, false};
inline constexpr SmallFloat kE4m3 = {4, 3, false, true};
inline constexpr SmallFloat kE5m2 = {5, 2, true, true};

double Decode(SmallFloat format, std::uint16_t bits);
// Rounds to nearest, ties to even.
std::uint16_t Encode(SmallFloat format, double value);

}  // namespace eidolon::network::communicator
