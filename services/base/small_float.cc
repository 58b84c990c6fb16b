// All conversions go through double. It represents every value of every format here exactly, and
// scaling by a power of two is exact, so a value is rounded once: when it is counted in units of
// its last mantissa bit. A detour through float would round twice and be off in ties. nearbyint
// rounds as the thread's rounding mode says; callers must leave the default (to nearest, ties to
// even). The functions for 16 bits repeat the general ones without their branches: float holds
// every half and bfloat16, and moving bits is enough in that direction.
#include "services/base/small_float.h"

#include <algorithm>
#include <cmath>

namespace eidolon::base {
namespace {

int Bias(SmallFloat format) { return (1 << (format.exponent_bits - 1)) - 1; }
std::uint16_t ExponentMask(SmallFloat format) {
  return static_cast<std::uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
}
std::uint16_t MantissaMask(SmallFloat format) {
  return static_cast<std::uint16_t>((1 << format.mantissa_bits) - 1);
}
std::uint16_t NotANumber(SmallFloat format) {
  const auto all = static_cast<std::uint16_t>(ExponentMask(format) | MantissaMask(format));
  if (!format.infinities) return all;
  // A quiet NaN: the top mantissa bit.
  return static_cast<std::uint16_t>(ExponentMask(format) | (1 << (format.mantissa_bits - 1)));
}
// The largest finite number's bits.
std::uint16_t Largest(SmallFloat format) {
  const auto all = static_cast<std::uint16_t>(ExponentMask(format) | MantissaMask(format));
  if (!format.infinities) return static_cast<std::uint16_t>(all - 1);
  return static_cast<std::uint16_t>(ExponentMask(format) - 1);
}

// Rounds a finite double to `mantissa` bits behind the point, at least 2^lowest apart.
double RoundTo(double value, int mantissa, int lowest, bool toward_zero) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = std::max(exponent - 1 - mantissa, lowest);
  const double scaled = std::ldexp(value, -step);
  return std::ldexp(toward_zero ? std::trunc(scaled) : std::nearbyint(scaled), step);
}

}  // namespace

double Decode(SmallFloat format, std::uint16_t bits) {
  const int width = 1 + format.exponent_bits + format.mantissa_bits;
  const double sign = (bits >> (width - 1)) & 1 ? -1.0 : 1.0;
  const int exponent = (bits & ExponentMask(format)) >> format.mantissa_bits;
  const int mantissa = bits & MantissaMask(format);
  const int top = (1 << format.exponent_bits) - 1;
  if (exponent == top && format.infinities) {
    return mantissa == 0 ? sign * INFINITY : std::nan("");
  }
  if (exponent == top && mantissa == MantissaMask(format)) return std::nan("");
  const int scale = (exponent == 0 ? 1 : exponent) - Bias(format) - format.mantissa_bits;
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(static_cast<double>(whole), scale);
}

std::uint16_t Encode(SmallFloat format, double value) {
  const int width = 1 + format.exponent_bits + format.mantissa_bits;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 1u << (width - 1) : 0u);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | NotANumber(format));
  const double size = std::fabs(value);
  const std::uint16_t beyond = format.saturates ? Largest(format) : ExponentMask(format);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | beyond);
  if (size == 0) return sign;

  // Count the value in units of its last mantissa bit and round that count.
  int exponent = 0;
  std::frexp(size, &exponent);  // size = f x 2^exponent, f in [0.5, 1).
  int biased = exponent - 1 + Bias(format);
  if (biased < 1) biased = 1;  // Subnormal numbers share the lowest exponent.
  const int scale = biased - Bias(format) - format.mantissa_bits;
  // nearbyint rounds ties to even in the default rounding mode.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -scale)));
  // Adding instead of merging lets a carry out of the mantissa raise the exponent; a subnormal's
  // missing leading one lowers it to zero.
  const std::uint32_t bits =
      units + (static_cast<std::uint32_t>(biased - 1) << format.mantissa_bits);
  if (bits > Largest(format)) return static_cast<std::uint16_t>(sign | beyond);
  return static_cast<std::uint16_t>(sign | bits);
}

// The exponent's bias changes from 15 to 127, hence the 112; a subnormal number counts units of
// 2^-24.
float HalfToFloat(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 31;
  const std::uint32_t mantissa = bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

std::uint16_t DoubleToHalf(double value, bool toward_zero) {
  if (std::isnan(value)) return 0x7fff;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::abs(value);
  constexpr double kLargest = 65504;
  if (!std::isinf(magnitude)) magnitude = RoundTo(magnitude, 10, -24, toward_zero);
  if (magnitude > kLargest) {
    const bool stays = toward_zero && !std::isinf(value);
    return static_cast<std::uint16_t>(sign | (stays ? 0x7bff : 0x7c00));
  }
  if (magnitude < 0x1p-14) {
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(magnitude * 0x1p24));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1).
  const auto mantissa = static_cast<std::uint16_t>(fraction * 2048 - 1024);
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | mantissa);
}

std::uint16_t DoubleToBfloat(double value, bool toward_zero) {
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::abs(value);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double rounded =
      std::isinf(magnitude) ? magnitude : RoundTo(magnitude, 7, -133, toward_zero);
  constexpr double kLargest = 0x1.fep127;
  if (rounded > kLargest) {
    const bool stays = toward_zero && !std::isinf(value);
    return static_cast<std::uint16_t>(sign | (stays ? 0x7f7f : 0x7f80));
  }
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded));
  return static_cast<std::uint16_t>(sign | bits >> 16);
}

}  // namespace eidolon::base
