// The results feed indices, loop bounds and branches, so they have to be the GPU's to the last bit
// where IEEE 754 defines them. The host's own operators do that for rounding to nearest, as the
// code is compiled without contraction (widest.h). What differs is applied around them: denormals
// flushed before and after if the instruction says so, the one NaN that GPUs produce, saturation
// last. The special functions (MUFU) are computed in double; a GPU approximates them with a few
// units in the last place of error, so those results are close and not equal.
#include <array>
#include <cmath>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

constexpr unsigned kFlushBit = 80;
constexpr unsigned kSaturateBit = 77;
constexpr unsigned kRoundingBits = 78;

Rounding RoundingOf(const Word& word) { return static_cast<Rounding>(word.Bits(kRoundingBits, 2)); }

// Flushes the operands into the buffer when the instruction says so.
const std::uint32_t* Single(Warp& warp, const Operand& operand, Lanes& buffer, bool flush) {
  const std::uint32_t* lanes = Signed(warp, operand, buffer);
  if (!flush) return lanes;
  for (unsigned i = 0; i < kLanes; ++i) buffer[i] = Flushed(lanes[i]);
  return buffer.data();
}

// One NaN, flushed and saturated as the instruction says.
void Settle(const Step& step, Lanes& out) {
  const bool flush = step.word.Bit(kFlushBit);
  const bool saturate = step.word.Bit(kSaturateBit);
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool is_nan = static_cast<std::int32_t>(out[i] & 0x7fffffffu) > 0x7f800000;
    out[i] = is_nan ? kNan : out[i];
  }
  if (flush) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = Flushed(out[i]);
  }
  if (saturate) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = AsBits(Saturated(AsFloat(out[i])));
  }
}

void Finish(Warp& warp, const Step& step, std::uint32_t mask, Lanes& out) {
  Settle(step, out);
  Put(warp, step.target, mask, out);
}

void RunFadd(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const Rounding rounding = RoundingOf(step.word);
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  if (rounding == Rounding::kNearest) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = AsBits(AsFloat(a[i]) + AsFloat(b[i]));
  } else {
    for (unsigned i = 0; i < kLanes; ++i)
      out[i] = AsBits(Add(AsFloat(a[i]), AsFloat(b[i]), rounding));
  }
  Finish(warp, step, mask, out);
}

// The scale is a power of two, hence multiplying by it first is exact but for the ends of the
// range.
void RunFmul(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const Rounding rounding = RoundingOf(step.word);
  static constexpr std::array<float, 8> kScales = {1, 0.125f, 0.25f, 0.5f, 1, 2, 4, 8};
  const float scale = kScales[step.word.Bits(84, 3)];
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  if (rounding == Rounding::kNearest) {
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(AsFloat(a[i]) * scale * AsFloat(b[i]));
    }
  } else {
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(Multiply(AsFloat(a[i]) * scale, AsFloat(b[i]), rounding));
    }
  }
  Finish(warp, step, mask, out);
}

void RunFfma(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const Rounding rounding = RoundingOf(step.word);
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  const std::uint32_t* c = Single(warp, step.c, z, flush);
  if (rounding == Rounding::kNearest) {
    // One instruction where the handler is compiled for it (widest.h).
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(std::fma(AsFloat(a[i]), AsFloat(b[i]), AsFloat(c[i])));
    }
  } else {
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = AsBits(MultiplyAdd(AsFloat(a[i]), AsFloat(b[i]), AsFloat(c[i]), rounding));
    }
  }
  Finish(warp, step, mask, out);
}

// Words of an operand that the halves of packed arithmetic take: as they lie, the other way round,
// or the first for both.
enum class Pair : std::uint64_t { kStraight, kCrossed, kSame };

constexpr unsigned kFirstPairBits = 81;
constexpr unsigned kLastPairBits = 84;  // Of the addend.
constexpr unsigned kFactorPairBits = 87;

const std::uint32_t* Half(Warp& warp, const Operand& operand, Pair pair, unsigned half,
                          Lanes& buffer, bool flush) {
  const unsigned word = pair == Pair::kSame ? 0 : pair == Pair::kCrossed ? 1 - half : half;
  const std::uint32_t* lanes = Signed(warp, operand, buffer, word);
  if (!flush) return lanes;
  for (unsigned i = 0; i < kLanes; ++i) buffer[i] = Flushed(lanes[i]);
  return buffer.data();
}

float Packed(Operation operation, float a, float b, float c, Rounding rounding) {
  const bool nearest = rounding == Rounding::kNearest;
  switch (operation) {
    case Operation::kFadd2:
      return nearest ? a + b : Add(a, b, rounding);
    case Operation::kFmul2:
      return nearest ? a * b : Multiply(a, b, rounding);
    default:
      return nearest ? std::fma(a, b, c) : MultiplyAdd(a, b, c, rounding);
  }
}

// Two of FADD, FMUL, FFMA, side by side in pairs of registers.
void RunPacked(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool flush = step.word.Bit(kFlushBit);
  const Rounding rounding = RoundingOf(step.word);
  const auto pair = [&](unsigned at) { return static_cast<Pair>(step.word.Bits(at, 2)); };
  const bool adds = step.operation == Operation::kFadd2;
  std::array<Lanes, 2> out;
  for (unsigned half = 0; half < 2; ++half) {
    Lanes x;
    Lanes y;
    Lanes z;
    const std::uint32_t* a = Half(warp, step.a, pair(kFirstPairBits), half, x, flush);
    const std::uint32_t* b =
        Half(warp, step.b, pair(adds ? kLastPairBits : kFactorPairBits), half, y, flush);
    const std::uint32_t* c = Half(warp, step.c, pair(kLastPairBits), half, z, flush);
    for (unsigned i = 0; i < kLanes; ++i) {
      out[half][i] =
          AsBits(Packed(step.operation, AsFloat(a[i]), AsFloat(b[i]), AsFloat(c[i]), rounding));
    }
    Settle(step, out[half]);
  }
  Put(warp, step.target, mask, out[0]);
  Put(warp, NextRow(step.target), mask, out[1]);
}

// What an immediate is for both halves is known only where the instruction says so.
bool IsPackedKnown(Operation operation, const Word& word) {
  const std::uint32_t form = sass::FormOf(word);
  if (form == 1) return true;
  const bool factor = operation != Operation::kFadd2 && form == 4;
  return word.Bits(factor ? kFactorPairBits : kLastPairBits, 2) ==
         static_cast<std::uint64_t>(Pair::kSame);
}

void RunFsel(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  const std::uint32_t chosen = ReadPredicate(warp, step.word, 87);
  Select(chosen, a, b, out.data());
  Put(warp, step.target, mask, out);
}

void RunFmnmx(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const bool keep_nan = step.word.Bit(81);
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  const std::uint32_t smaller = ReadPredicate(warp, step.word, 87);
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = AsBits(Extreme(AsFloat(a[i]), AsFloat(b[i]), (smaller >> i & 1) != 0, keep_nan));
  }
  Put(warp, step.target, mask, out);
}

void RunFmnmx3(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const bool flush = step.word.Bit(kFlushBit);
  const bool keep_nan = step.word.Bit(81);
  const std::uint32_t* a = Single(warp, step.a, x, flush);
  const std::uint32_t* b = Single(warp, step.b, y, flush);
  const std::uint32_t* c = Single(warp, step.c, z, flush);
  const std::uint32_t smaller = ReadPredicate(warp, step.word, 87);
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool less = (smaller >> i & 1) != 0;
    const float two = Extreme(AsFloat(a[i]), AsFloat(b[i]), less, keep_nan);
    out[i] = AsBits(Extreme(two, AsFloat(c[i]), less, keep_nan));
  }
  Put(warp, step.target, mask, out);
}

std::uint32_t CompareSingles(Warp& warp, const Step& step) {
  Lanes x;
  Lanes y;
  const bool flush = step.word.Bit(kFlushBit);
  const std::uint64_t code = step.word.Bits(76, 4);
  const std::uint32_t* const a = Single(warp, step.a, x, flush);
  const std::uint32_t* const b = Single(warp, step.b, y, flush);
  const auto holds = [&](auto&& relation) {
    return Compare(a, b, [&](std::uint32_t one, std::uint32_t other) {
      return relation(AsFloat(one), AsFloat(other));
    });
  };
  const std::uint32_t less = holds([](float one, float other) { return one < other; });
  const std::uint32_t equal = holds([](float one, float other) { return one == other; });
  const std::uint32_t greater = holds([](float one, float other) { return one > other; });
  return ((code & 1) != 0 ? less : 0) | ((code & 2) != 0 ? equal : 0) |
         ((code & 4) != 0 ? greater : 0) | ((code & 8) != 0 ? ~(less | equal | greater) : 0);
}

void RunFsetp(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t result = CompareSingles(warp, step);
  const std::uint32_t other = ReadPredicate(warp, step.word, 87);
  const std::uint64_t how = step.word.Bits(74, 2);
  PutPredicate(warp, step.word, 81, mask, Combine(how, result, other));
  PutPredicate(warp, step.word, 84, mask, Combine(how, ~result, other));
}

void RunFset(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t result = Combine(step.word.Bits(74, 2), CompareSingles(warp, step),
                                       ReadPredicate(warp, step.word, 87));
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) out[i] = (result >> i & 1) != 0 ? AsBits(1.0f) : 0;
  Put(warp, step.target, mask, out);
}

// True for operands whose quotient needs the slow way. That way is right for all, so numbers near
// the ends of the range take it too.
void RunFchk(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  const std::uint32_t slow = Compare(
      Signed(warp, step.a, x), Signed(warp, step.b, y), [](std::uint32_t a, std::uint32_t b) {
        const int above = static_cast<int>(a >> 23 & 255);
        const int below = static_cast<int>(b >> 23 & 255);
        return below < 4 || below > 250 || above < 32 || above == 255 || above - below > 120 ||
               above - below < -110;
      });
  PutPredicate(warp, step.word, 81, mask, slow);
}

float Special(std::uint64_t function, float a) {
  constexpr double kTwoPi = 6.283185307179586476925;
  switch (function) {
    case 0:
      return static_cast<float>(std::cos(static_cast<double>(a) * kTwoPi));
    case 1:
      return static_cast<float>(std::sin(static_cast<double>(a) * kTwoPi));
    case 2:
      return static_cast<float>(std::exp2(static_cast<double>(a)));
    case 3:
      return static_cast<float>(std::log2(static_cast<double>(a)));
    case 4:
      return 1.0f / a;
    case 5:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
    case 8:
      return std::sqrt(a);
    default:
      return static_cast<float>(std::tanh(static_cast<double>(a)));
  }
}

void RunMufu(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t function = step.word.Bits(74, 4);
  Lanes x;
  Lanes out;
  const std::uint32_t* a = Signed(warp, step.b, x);
  for (unsigned i = 0; i < kLanes; ++i) {
    if (function == 6 || function == 7) {  // On the upper word of a double.
      const double value = std::bit_cast<double>(std::uint64_t{a[i]} << 32);
      const double result = function == 6 ? 1.0 / value : 1.0 / std::sqrt(value);
      out[i] = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(result) >> 32);
      continue;
    }
    // The unit takes denormals as zeros, and the slow ways around it rely on that.
    const float result = Special(function, function == 9 ? AsFloat(a[i]) : Flushed(AsFloat(a[i])));
    out[i] = std::isnan(result) ? kNan : AsBits(result);
  }
  Put(warp, step.target, mask, out);
}

// Handles one number of half precision or bfloat16, in either half of its register. The upper half
// of the result is never looked at.
void RunHalfMufu(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t function = step.word.Bits(74, 4);
  const bool bfloat = step.word.Bits(72, 2) == 2;
  const bool upper = sass::FormOf(step.word) == 1 && step.word.Bit(60);
  const unsigned shift = upper ? 16 : 0;
  Lanes x;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.b, x);
  for (unsigned i = 0; i < kLanes; ++i) {
    const auto bits = static_cast<std::uint16_t>(a[i] >> shift);
    float value = bfloat ? base::BfloatToFloat(bits) : base::HalfToFloat(bits);
    if (step.b.absolute) value = std::abs(value);
    const auto result = static_cast<double>(Special(function, step.b.negative ? -value : value));
    out[i] = bfloat ? base::DoubleToBfloat(result) : base::DoubleToHalf(result);
  }
  Put(warp, step.target, mask, out);
}

// Pairs of registers as doubles.
using Doubles = std::array<double, kLanes>;

void ReadDoubles(Warp& warp, const Operand& operand, Doubles& out) {
  Lanes x;
  Lanes y;
  if (operand.kind == Operand::Kind::kFixed) {
    const double value = std::bit_cast<double>(std::uint64_t{operand.immediate} << 32);
    out.fill(value);
    return;
  }
  const std::uint32_t* low = Plain(warp, operand, x, 0);
  const std::uint32_t* high = Signed(warp, operand, y, 1);
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = std::bit_cast<double>(std::uint64_t{high[i]} << 32 | low[i]);
  }
}

void PutDoubles(Warp& warp, const Step& step, std::uint32_t mask, const Doubles& values) {
  std::array<std::uint64_t, kLanes> bits;
  constexpr std::uint64_t kDoubleNan = 0x7fffffffffffffffu;
  for (unsigned i = 0; i < kLanes; ++i) {
    bits[i] = std::isnan(values[i]) ? kDoubleNan : std::bit_cast<std::uint64_t>(values[i]);
  }
  PutPair(warp, step.target, mask, bits);
}

void RunDouble(Warp& warp, const Step& step, std::uint32_t mask) {
  Doubles a;
  Doubles b;
  Doubles c;
  Doubles out;
  const Rounding rounding = RoundingOf(step.word);
  ReadDoubles(warp, step.a, a);
  ReadDoubles(warp, step.b, b);
  switch (step.operation) {
    case Operation::kDadd:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = Add(a[i], b[i], rounding);
      break;
    case Operation::kDmul:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = Multiply(a[i], b[i], rounding);
      break;
    default:
      ReadDoubles(warp, step.c, c);
      for (unsigned i = 0; i < kLanes; ++i) out[i] = MultiplyAdd(a[i], b[i], c[i], rounding);
      break;
  }
  PutDoubles(warp, step, mask, out);
}

void RunDsetp(Warp& warp, const Step& step, std::uint32_t mask) {
  Doubles a;
  Doubles b;
  ReadDoubles(warp, step.a, a);
  ReadDoubles(warp, step.b, b);
  const std::uint64_t code = step.word.Bits(76, 4);
  std::uint32_t result = 0;
  std::uint32_t reverse = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    bool holds = false;
    if (code == 0 || code == 15) {  // Which one is the smaller or larger; a number beats a NaN.
      const bool first = code == 0 ? a[i] < b[i] : a[i] > b[i];
      holds = std::isnan(b[i]) || first;
    } else {
      holds = CompareFloat(code, a[i], b[i]);
    }
    result |= std::uint32_t{holds} << i;
  }
  reverse = ~result;
  if (code == 0 || code == 15) {  // The second predicate tells that neither is a number.
    reverse = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      reverse |= std::uint32_t{std::isnan(a[i]) && std::isnan(b[i])} << i;
    }
  }
  const std::uint32_t other = ReadPredicate(warp, step.word, 87);
  const std::uint64_t how = step.word.Bits(74, 2);
  PutPredicate(warp, step.word, 81, mask, Combine(how, result, other));
  PutPredicate(warp, step.word, 84, mask, Combine(how, reverse, other));
}

Handler FindMufuHandler(const Word& word) {
  const std::uint64_t function = word.Bits(74, 4);
  const std::uint64_t format = word.Bits(72, 2);
  if (format == 0) return function < 10 ? RunMufu : nullptr;
  constexpr std::uint64_t kPowerOfTwo = 2;
  constexpr std::uint64_t kHyperbolicTangent = 9;
  const bool exists = function == kPowerOfTwo || function == kHyperbolicTangent;
  const std::uint32_t form = sass::FormOf(word);
  const bool known = format < 3 && (form == 4 || (form == 1 && word.Bits(60, 2) < 2));
  return exists && known ? RunHalfMufu : nullptr;
}

}  // namespace

Handler FindFloatHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kFadd:
      return Widest<RunFadd>();
    case Operation::kFmul:
      return word.Bit(76) ? nullptr : Widest<RunFmul>();
    case Operation::kFfma:
      return word.Bit(76) ? nullptr : Widest<RunFfma>();
    case Operation::kFadd2:
    case Operation::kFmul2:
    case Operation::kFfma2:
      return IsPackedKnown(operation, word) ? Widest<RunPacked>() : nullptr;
    case Operation::kFsel:
      return Widest<RunFsel>();
    case Operation::kFmnmx:
      return word.Bit(82) ? nullptr : RunFmnmx;
    case Operation::kFmnmx3:
      return RunFmnmx3;
    case Operation::kFset:
      return RunFset;
    case Operation::kFsetp:
      return Widest<RunFsetp>();
    case Operation::kFchk:
      return RunFchk;
    case Operation::kMufu:
      return FindMufuHandler(word);
    case Operation::kDadd:
    case Operation::kDmul:
    case Operation::kDfma:
      return Widest<RunDouble>();
    case Operation::kDsetp:
      return RunDsetp;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
