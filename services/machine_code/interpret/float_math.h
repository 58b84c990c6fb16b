// Arithmetic as the GPU does it where the host's own operators differ: directed rounding, flushing,
// NaN rules, half precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace eidolon::interpret {

// Values are those of the rounding fields of instructions: nearest even, down, up, to zero.
enum class Rounding : std::uint8_t { kNearest = 0, kDown = 1, kUp = 2, kZero = 3 };

float Add(float a, float b, Rounding rounding);
float Multiply(float a, float b, Rounding rounding);
float MultiplyAdd(float a, float b, float c, Rounding rounding);
double Add(double a, double b, Rounding rounding);
double Multiply(double a, double b, Rounding rounding);
double MultiplyAdd(double a, double b, double c, Rounding rounding);
float Narrow(double value, Rounding rounding);

// Denormals become zeros of their sign.
inline std::uint32_t Flushed(std::uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}
inline float Flushed(float value) {
  return std::bit_cast<float>(Flushed(std::bit_cast<std::uint32_t>(value)));
}

inline constexpr std::uint32_t kNan = 0x7fffffffu;  // The one that arithmetic produces.

// To [0, 1]; NaN becomes 0.
inline float Saturated(float value) { return value > 0 ? (value < 1 ? value : 1.0f) : 0.0f; }

// The smaller or larger one; a NaN only when both are, or `keep_nan`.
inline float Extreme(float a, float b, bool smaller, bool keep_nan) {
  if (std::isnan(a) || std::isnan(b)) {
    if (keep_nan || (std::isnan(a) && std::isnan(b))) return std::bit_cast<float>(kNan);
    return std::isnan(a) ? b : a;
  }
  if (a == b) return std::signbit(a) == smaller ? a : b;
  return (a < b) == smaller ? a : b;
}

// Compares floating point numbers: codes of FSETP and its like. Bit 3: true for NaN too.
template <typename Number>
bool CompareFloat(std::uint64_t code, Number a, Number b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  if (unordered) return code >= 8;
  const bool less = (code & 1) != 0 && a < b;
  const bool equal = (code & 2) != 0 && a == b;
  const bool greater = (code & 4) != 0 && a > b;
  return less || equal || greater;
}

}  // namespace eidolon::interpret
