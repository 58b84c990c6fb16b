#include "services/network/communicator/element.h"

#include <cmath>

namespace eidolon::network::communicator {

std::uint32_t ElementBytes(std::uint32_t type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kFloat8E4m3:
    case kFloat8E5m2:
      return 1;
    case kFloat16:
    case kBfloat16:
      return 2;
    case kInt32:
    case kUint32:
    case kFloat32:
      return 4;
    case kInt64:
    case kUint64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

std::string_view ElementName(std::uint32_t type) {
  switch (type) {
    case kInt8:
      return "int8";
    case kUint8:
      return "uint8";
    case kInt32:
      return "int32";
    case kUint32:
      return "uint32";
    case kInt64:
      return "int64";
    case kUint64:
      return "uint64";
    case kFloat16:
      return "float16";
    case kFloat32:
      return "float32";
    case kFloat64:
      return "float64";
    case kBfloat16:
      return "bfloat16";
    case kFloat8E4m3:
      return "float8_e4m3";
    case kFloat8E5m2:
      return "float8_e5m2";
    default:
      return "unknown";
  }
}

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

}  // namespace eidolon::network::communicator
