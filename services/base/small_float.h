// Floating-point numbers of at most 16 bits, by their bits: half precision, bfloat16 and the two
// formats of eight bits.
#pragma once

#include <bit>
#include <cstdint>

namespace eidolon::base {

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

// The two of 16 bits as GPUs convert them: every NaN becomes 0x7fff. Quicker than the general form,
// because the interpreter lives on them.
float HalfToFloat(std::uint16_t bits);
std::uint16_t DoubleToHalf(double value, bool toward_zero = false);
inline float BfloatToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
std::uint16_t DoubleToBfloat(double value, bool toward_zero = false);

}  // namespace eidolon::base
