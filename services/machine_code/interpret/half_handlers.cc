// Two numbers of 16 bits lie in a register, and both halves are computed at once. The arithmetic is
// double's: products and sums of half precision numbers are exact there, so rounding to 16 bits is
// the only one, as in the GPU. Of bfloat16 the exponents lie further apart, and a fused sum may not
// fit into a double: it is rounded to odd there, so that rounding it again to 16 bits gives what
// one rounding gives (Boldo and Melquiond, 2008). A single precision intermediate would round twice
// for half precision too.
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/operation_kinds.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Slot;
using sass::SlotKind;
using sass::Word;

// Both halves of an operand, as numbers.
struct Halves {
  std::array<double, kLanes> low;
  std::array<double, kLanes> high;
};

bool IsBfloat(const Step& step) {
  const bool compares = step.operation == Operation::kHset2 || step.operation == Operation::kHsetp2;
  return compares ? step.word.Bits(64, 2) == 2 : step.word.Bit(85);
}

// Reads the half that feeds each side: 0 both in place, 2 twice the low one, 3 twice the high one.
void ReadHalves(Warp& warp, const Operand& operand, std::uint64_t choice, bool bfloat,
                Halves& out) {
  Lanes buffer;
  const std::uint32_t* lanes = Plain(warp, operand, buffer);
  for (unsigned i = 0; i < kLanes; ++i) {
    const auto low = static_cast<std::uint16_t>(choice == 3 ? lanes[i] >> 16 : lanes[i]);
    const auto high = static_cast<std::uint16_t>(choice == 2 ? lanes[i] : lanes[i] >> 16);
    const auto value = [&](std::uint16_t bits) {
      double number =
          static_cast<double>(bfloat ? base::BfloatToFloat(bits) : base::HalfToFloat(bits));
      if (operand.absolute) number = std::abs(number);
      return operand.negative ? -number : number;
    };
    out.low[i] = value(low);
    out.high[i] = value(high);
  }
}

std::uint64_t ChoiceOf(const Step& step, Slot slot) {
  if (step.operation == Operation::kHfma2Mma) return 0;
  const sass::SlotPlace place = PlaceOf(step.word, slot);
  if (place.kind == SlotKind::kImmediate) return 0;
  return step.word.Bits(place.at == 32 ? 60 : 81, 2);
}

std::uint32_t Pack(double low, double high, bool bfloat) {
  if (bfloat) return base::DoubleToBfloat(low) | std::uint32_t{base::DoubleToBfloat(high)} << 16;
  return base::DoubleToHalf(low) | std::uint32_t{base::DoubleToHalf(high)} << 16;
}

// Returns the sum rounded to odd: where it is not exact, of the two doubles around it the one whose
// last bit is set. Finite products and numbers of bfloat16 neither overflow nor underflow a double.
double AddToOdd(double a, double b) {
  const double sum = a + b;
  // The remainder is the exact rounding error (Knuth); it is NaN for infinite numbers.
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  // A larger magnitude has larger bits.
  if (std::abs(rest) > 0 && (bits & 1) == 0)
    bits += (rest > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

double Bounded(double value, bool saturate, bool relu) {
  if (saturate) return value > 0 ? (value < 1 ? value : 1.0) : 0.0;
  if (relu && value <= 0) return 0.0;
  return value;
}

void RunHalf(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool bfloat = IsBfloat(step);
  const bool fuses = step.operation == Operation::kHfma2 || step.operation == Operation::kHfma2Mma;
  if (const auto constant = fuses ? ConstantOfHalves(step) : std::nullopt) {
    Lanes same;
    same.fill(*constant);
    return Put(warp, step.target, mask, same);
  }
  const bool saturate = step.word.Bit(77);
  const bool relu = fuses && step.word.Bit(79);
  Halves a;
  Halves b;
  Halves c;
  const std::uint64_t first = step.operation == Operation::kHfma2Mma ? 0 : step.word.Bits(74, 2);
  ReadHalves(warp, step.a, first, bfloat, a);
  ReadHalves(warp, step.b, ChoiceOf(step, fuses ? Slot::kB : Slot::kAt32), bfloat, b);
  if (fuses) ReadHalves(warp, step.c, ChoiceOf(step, Slot::kC), bfloat, c);
  Lanes out;
  const bool adds = step.operation == Operation::kHadd2;
  for (unsigned i = 0; i < kLanes; ++i) {
    double low = adds ? a.low[i] + b.low[i] : a.low[i] * b.low[i];
    double high = adds ? a.high[i] + b.high[i] : a.high[i] * b.high[i];
    if (fuses) {
      // The products are exact.
      low = bfloat ? AddToOdd(low, c.low[i]) : low + c.low[i];
      high = bfloat ? AddToOdd(high, c.high[i]) : high + c.high[i];
    }
    low = Bounded(low, saturate, relu);
    high = Bounded(high, saturate, relu);
    if (adds && step.word.Bit(78)) {
      out[i] = std::isnan(low) ? kNan : AsBits(static_cast<float>(low));
    } else {
      out[i] = Pack(low, high, bfloat);
    }
  }
  Put(warp, step.target, mask, out);
}

// Denormals of half precision as zeros; of bfloat16 nothing is flushed.
double FlushedHalf(double value) {
  return std::abs(value) < 0x1p-14 ? std::copysign(0.0, value) : value;
}

void RunHmnmx2(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool bfloat = IsBfloat(step);
  const bool flush = step.word.Bit(80);
  const bool keep_nan = step.word.Bit(81);
  Halves a;
  Halves b;
  ReadHalves(warp, step.a, step.word.Bits(74, 2), bfloat, a);
  ReadHalves(warp, step.b, ChoiceOf(step, Slot::kAt32), bfloat, b);
  const std::uint32_t smaller = ReadPredicate(warp, step.word, 87);
  const auto choose = [&](double x, double y, unsigned lane) {
    if (flush) {
      x = FlushedHalf(x);
      y = FlushedHalf(y);
    }
    return static_cast<double>(Extreme(static_cast<float>(x), static_cast<float>(y),
                                       (smaller >> lane & 1) != 0, keep_nan));
  };
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = Pack(choose(a.low[i], b.low[i], i), choose(a.high[i], b.high[i], i), bfloat);
  }
  Put(warp, step.target, mask, out);
}

void CompareHalves(Warp& warp, const Step& step, std::uint32_t* low, std::uint32_t* high) {
  const bool bfloat = IsBfloat(step);
  const std::uint64_t code = step.word.Bits(76, 4);
  Halves a;
  Halves b;
  ReadHalves(warp, step.a, step.word.Bits(74, 2), bfloat, a);
  ReadHalves(warp, step.b, ChoiceOf(step, Slot::kAt32), bfloat, b);
  *low = *high = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    *low |= std::uint32_t{CompareFloat(code, a.low[i], b.low[i])} << i;
    *high |= std::uint32_t{CompareFloat(code, a.high[i], b.high[i])} << i;
  }
}

void RunHsetp2(Warp& warp, const Step& step, std::uint32_t mask) {
  std::uint32_t low;
  std::uint32_t high;
  CompareHalves(warp, step, &low, &high);
  const std::uint32_t other = ReadPredicate(warp, step.word, 87);
  const std::uint64_t how = step.word.Bits(69, 2);
  if (step.word.Bit(71)) {
    PutPredicate(warp, step.word, 81, mask, Combine(how, low & high, other));
    PutPredicate(warp, step.word, 84, mask, Combine(how, ~(low & high), other));
  } else {
    PutPredicate(warp, step.word, 81, mask, Combine(how, low, other));
    PutPredicate(warp, step.word, 84, mask, Combine(how, high, other));
  }
}

void RunHset2(Warp& warp, const Step& step, std::uint32_t mask) {
  std::uint32_t low;
  std::uint32_t high;
  CompareHalves(warp, step, &low, &high);
  const std::uint32_t other = ReadPredicate(warp, step.word, 87);
  const std::uint64_t how = step.word.Bits(69, 2);
  low = Combine(how, low, other);
  high = Combine(how, high, other);
  const bool bfloat = IsBfloat(step);
  // One, or (without .BF) all bits.
  const std::uint32_t yes = step.word.Bit(71) ? (bfloat ? 0x3f80u : 0x3c00u) : 0xffffu;
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = ((low >> i & 1) != 0 ? yes : 0) | ((high >> i & 1) != 0 ? yes : 0) << 16;
  }
  Put(warp, step.target, mask, out);
}

}  // namespace

Handler FindHalfHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kHadd2:
    case Operation::kHmul2:
    case Operation::kHfma2:
    case Operation::kHfma2Mma:
      return Widest<RunHalf>();
    case Operation::kHmnmx2: {
      const bool flushes_bfloats = word.Bit(80) && word.Bit(85);
      return word.Bit(82) || flushes_bfloats ? nullptr : RunHmnmx2;  // Signs by exclusive or.
    }
    case Operation::kHset2:
      return RunHset2;
    case Operation::kHsetp2:
      return RunHsetp2;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
