// A GPU rounds a conversion once, in the direction that the instruction states. Double holds every
// number of the narrower formats exactly, so most conversions go to double, round to integer if
// asked to, and round once to the target. Integers of 64 bits do not fit into a double. For a
// result in double they are added from two exact halves; for a narrower one the bits that do not
// fit are folded into a last, sticky bit, which keeps the second rounding from meeting a tie that
// is not one. Numbers out of range become the nearest end, as CUDA's conversions define it,
// where C++ leaves it undefined.
#include <array>
#include <cmath>
#include <limits>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

// Number formats as the conversion instructions name them.
enum Format : std::uint64_t { kHalf = 1, kSingle = 2, kDouble = 3, kBfloat = 4 };

using Doubles = std::array<double, kLanes>;

// The operand as numbers, whatever its format.
void ReadNumbers(Warp& warp, const Operand& operand, std::uint64_t format, Doubles& out) {
  Lanes x;
  Lanes y;
  if (format == kDouble) {
    const std::uint32_t* low = Plain(warp, operand, x, 0);
    const std::uint32_t* high = Signed(warp, operand, y, 1);
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = std::bit_cast<double>(std::uint64_t{high[i]} << 32 | low[i]);
    }
    return;
  }
  if (format == kSingle) {
    const std::uint32_t* a = Signed(warp, operand, x);
    for (unsigned i = 0; i < kLanes; ++i) out[i] = static_cast<double>(AsFloat(a[i]));
    return;
  }
  const std::uint32_t* a = Plain(warp, operand, x);
  for (unsigned i = 0; i < kLanes; ++i) {
    const auto bits = static_cast<std::uint16_t>(a[i]);
    out[i] =
        static_cast<double>(format == kHalf ? base::HalfToFloat(bits) : base::BfloatToFloat(bits));
    if (operand.absolute) out[i] = std::abs(out[i]);
    if (operand.negative) out[i] = -out[i];
  }
}

// A number of 16 bits. Directed roundings go to the next one from zero where something was cut off.
std::uint32_t ToSixteenBits(double value, bool half, Rounding rounding) {
  const bool toward_zero = rounding != Rounding::kNearest;
  const std::uint16_t bits =
      half ? base::DoubleToHalf(value, toward_zero) : base::DoubleToBfloat(value, toward_zero);
  const bool away =
      (rounding == Rounding::kUp && value > 0) || (rounding == Rounding::kDown && value < 0);
  if (!away) return bits;
  const auto kept = static_cast<double>(half ? base::HalfToFloat(bits) : base::BfloatToFloat(bits));
  return kept == value ? bits : bits + 1u;
}

void PutNumbers(Warp& warp, const Step& step, std::uint32_t mask, std::uint64_t format,
                const Doubles& values, Rounding rounding) {
  constexpr std::uint64_t kDoubleNan = 0x7fffffffffffffffu;
  if (format == kDouble) {
    std::array<std::uint64_t, kLanes> bits;
    for (unsigned i = 0; i < kLanes; ++i) {
      bits[i] = std::isnan(values[i]) ? kDoubleNan : std::bit_cast<std::uint64_t>(values[i]);
    }
    PutPair(warp, step.target, mask, bits);
    return;
  }
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) {
    if (format == kSingle) {
      out[i] = std::isnan(values[i]) ? kNan : AsBits(Narrow(values[i], rounding));
    } else {
      out[i] = ToSixteenBits(values[i], format == kHalf, rounding);
    }
  }
  Put(warp, step.target, mask, out);
}

void RunF2f(Warp& warp, const Step& step, std::uint32_t mask) {
  Doubles values;
  ReadNumbers(warp, step.b, step.word.Bits(84, 3), values);
  if (step.word.Bit(80)) {
    for (double& value : values)
      value = std::abs(value) < 0x1p-126 ? std::copysign(0, value) : value;
  }
  PutNumbers(warp, step, mask, step.word.Bits(75, 3), values,
             static_cast<Rounding>(step.word.Bits(78, 2)));
}

double RoundToInteger(double value, std::uint64_t mode) {
  switch (mode) {
    case 0:
      return std::nearbyint(value);
    case 1:
      return std::floor(value);
    case 2:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

void RunFrnd(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t format = step.word.Bits(75, 3);
  Doubles values;
  ReadNumbers(warp, step.b, format, values);
  for (double& value : values) value = RoundToInteger(value, step.word.Bits(78, 2));
  PutNumbers(warp, step, mask, format, values, Rounding::kNearest);
}

// Out of range: the nearest end. NaN: zero, except where 64 bits take part.
std::uint64_t ToInteger(double value, unsigned bits, bool has_sign, bool wide) {
  if (std::isnan(value)) return wide ? std::uint64_t{1} << (bits - 1) : 0;
  const double above = std::ldexp(1.0, static_cast<int>(has_sign ? bits - 1 : bits));
  if (has_sign) {
    const auto largest = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
    if (value >= above) return static_cast<std::uint64_t>(largest);
    if (value <= -above) return static_cast<std::uint64_t>(-largest - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  if (value <= 0) return 0;
  if (value >= above) return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return static_cast<std::uint64_t>(value);
}

void RunF2i(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t format = step.word.Bits(84, 3);
  const unsigned bits = 8u << step.word.Bits(75, 2);
  const bool has_sign = step.word.Bit(72);
  Doubles values;
  ReadNumbers(warp, step.b, format, values);
  std::array<std::uint64_t, kLanes> out;
  const bool wide = bits == 64 || format == kDouble;
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = ToInteger(RoundToInteger(values[i], step.word.Bits(78, 2)), bits, has_sign, wide);
  }
  if (bits == 64) return PutPair(warp, step.target, mask, out);
  Lanes low;
  for (unsigned i = 0; i < kLanes; ++i) low[i] = static_cast<std::uint32_t>(out[i]);
  Put(warp, step.target, mask, low);
}

// An integer rounded once to `format`, by its size and sign.
void PutIntegers(Warp& warp, const Step& step, std::uint32_t mask, std::uint64_t format,
                 const std::array<std::uint64_t, kLanes>& values, bool has_sign,
                 Rounding rounding) {
  Doubles doubles;
  Lanes singles;
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool negative = has_sign && static_cast<std::int64_t>(values[i]) < 0;
    const std::uint64_t magnitude = negative ? 0 - values[i] : values[i];
    const double sign = negative ? -1.0 : 1.0;
    if (format == kDouble) {
      // Two exact halves; their sum rounds once.
      const double high = static_cast<double>(magnitude >> 32) * 0x1p32;
      const double low = static_cast<double>(magnitude & 0xffffffffu);
      doubles[i] = Add(sign * high, sign * low, rounding);
      continue;
    }
    // A sticky last bit keeps the second rounding right.
    std::uint64_t kept = magnitude;
    if (kept >> 53 != 0) kept = (kept >> 11 | std::uint64_t{(kept & 2047) != 0}) << 11;
    doubles[i] = sign * static_cast<double>(kept);
    if (format == kSingle) singles[i] = AsBits(Narrow(doubles[i], rounding));
  }
  if (format == kSingle) {
    Put(warp, step.target, mask, singles);
  } else {
    PutNumbers(warp, step, mask, format, doubles, rounding);
  }
}

void RunI2f(Warp& warp, const Step& step, std::uint32_t mask) {
  const unsigned bits = 8u << step.word.Bits(84, 2);
  const bool has_sign = step.word.Bit(74);
  const auto part = static_cast<unsigned>(step.word.Bits(60, 2));
  Lanes x;
  Lanes y;
  const std::uint32_t* low = Plain(warp, step.b, x, 0);
  const std::uint32_t* high = bits == 64 ? Plain(warp, step.b, y, 1) : low;
  std::array<std::uint64_t, kLanes> values;
  for (unsigned i = 0; i < kLanes; ++i) {
    std::uint64_t value = bits == 64 ? std::uint64_t{high[i]} << 32 | low[i] : low[i];
    if (bits < 32) value = low[i] >> (part * bits) & ((1u << bits) - 1);
    if (has_sign && bits < 64) {
      const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
      value = (value ^ sign) - sign;
    }
    values[i] = value;
  }
  PutIntegers(warp, step, mask, step.word.Bits(75, 3), values, has_sign,
              static_cast<Rounding>(step.word.Bits(78, 2)));
}

void RunI2fp(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.b, x);
  const bool has_sign = step.word.Bit(74);
  const auto rounding = static_cast<Rounding>(step.word.Bits(78, 2));
  if (rounding == Rounding::kNearest) {
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(has_sign ? static_cast<float>(static_cast<std::int32_t>(a[i]))
                               : static_cast<float>(a[i]));
    }
  } else {
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(Narrow(has_sign ? static_cast<double>(static_cast<std::int32_t>(a[i]))
                                      : static_cast<double>(a[i]),
                             rounding));
    }
  }
  Put(warp, step.target, mask, out);
}

// Packs two single precision numbers; the first goes to the upper half.
void RunF2fp(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes out;
  const std::uint32_t* a = Signed(warp, step.a, x);
  const std::uint32_t* b = Signed(warp, step.b, y);
  const bool bfloat = step.word.Bit(76);
  const bool relu = step.word.Bit(75);
  const bool finite = step.word.Bit(77);
  const bool toward_zero = step.word.Bits(79, 2) == 3;
  const auto convert = [&](std::uint32_t bits) -> std::uint32_t {
    double value = static_cast<double>(AsFloat(bits));
    if (relu && !(value > 0)) value = std::isnan(value) ? value : 0.0;
    std::uint32_t result =
        bfloat ? base::DoubleToBfloat(value, toward_zero) : base::DoubleToHalf(value, toward_zero);
    const std::uint32_t infinity = bfloat ? 0x7f80 : 0x7c00;
    if (finite && (result & 0x7fff) == infinity) --result;
    return result;
  };
  for (unsigned i = 0; i < kLanes; ++i) out[i] = convert(b[i]) | convert(a[i]) << 16;
  Put(warp, step.target, mask, out);
}

bool IsFormat(std::uint64_t format) { return format >= kHalf && format <= kBfloat; }

}  // namespace

Handler FindConvertHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kF2f:
      return IsFormat(word.Bits(75, 3)) && IsFormat(word.Bits(84, 3)) ? RunF2f : nullptr;
    case Operation::kFrnd:
      return IsFormat(word.Bits(75, 3)) ? RunFrnd : nullptr;
    case Operation::kF2i:
      return IsFormat(word.Bits(84, 3)) ? RunF2i : nullptr;
    case Operation::kI2f:
      return IsFormat(word.Bits(75, 3)) ? RunI2f : nullptr;
    case Operation::kI2fp:
      return RunI2fp;
    case Operation::kF2fp:
      return word.Bit(78) ? nullptr : RunF2fp;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
