#include "services/interpret/float_math.h"

#include <cfenv>

namespace eidolon::interpret {
namespace {

// Built with -frounding-math: operations between set and restore use the mode.
class Mode {
 public:
  explicit Mode(Rounding rounding) : old_(std::fegetround()) {
    static constexpr int kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~Mode() { std::fesetround(old_); }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  int old_;
};

// Keeps the compiler from moving a computation across a change of mode.
template <typename Number>
Number Opaque(Number value) {
  asm("" : "+x"(value) : : "memory");
  return value;
}

template <typename Number>
Number AddIn(Number a, Number b, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(Opaque(a) + Opaque(b));
}

template <typename Number>
Number MultiplyIn(Number a, Number b, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(Opaque(a) * Opaque(b));
}

template <typename Number>
Number MultiplyAddIn(Number a, Number b, Number c, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(std::fma(Opaque(a), Opaque(b), Opaque(c)));
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

float Add(float a, float b, Rounding rounding) { return AddIn(a, b, rounding); }
float Multiply(float a, float b, Rounding rounding) { return MultiplyIn(a, b, rounding); }
float MultiplyAdd(float a, float b, float c, Rounding rounding) {
  return MultiplyAddIn(a, b, c, rounding);
}
double Add(double a, double b, Rounding rounding) { return AddIn(a, b, rounding); }
double Multiply(double a, double b, Rounding rounding) { return MultiplyIn(a, b, rounding); }
double MultiplyAdd(double a, double b, double c, Rounding rounding) {
  return MultiplyAddIn(a, b, c, rounding);
}

float Narrow(double value, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(static_cast<float>(Opaque(value)));
}

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

}  // namespace eidolon::interpret
