// Numbers are kept as unsigned words, in which sums wrap around as the GPU's do and in C++ without
// undefined behaviour. A negative operand is its complement plus one. With a carry in (.X) it is
// the complement alone, because the carry brings the one: that is how compilers subtract numbers of
// several words. IADD3 and IMAD.WIDE, which compute addresses, have a short way without carries,
// which compiles to vector instructions, and a full way; both must give the same.
#include <algorithm>
#include <array>

#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

constexpr unsigned kCarryInBit = 74;

// A summand as the adder gets it: the value, and what completes a negation. With carries in,
// "minus" only complements.
struct Summand {
  const std::uint32_t* lanes;
  std::uint32_t flip;  // All ones to complement.
  std::uint64_t plus;
};

Summand Prepare(Warp& warp, const Operand& operand, Lanes& buffer, bool extends) {
  return {Plain(warp, operand, buffer), operand.negative ? ~0u : 0u,
          operand.negative && !extends ? 1u : 0u};
}

// False when the predicate that the instruction names at this bit is the one nobody reads.
bool TakesPredicate(const Word& word, unsigned at) {
  return word.Bits(at, 3) != sass::kTruePredicate;
}

// A sum of three words may carry twice; each carry is a predicate of its own.
void RunIadd3(Warp& warp, const Step& step, std::uint32_t mask) {
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const bool extends = step.word.Bit(kCarryInBit);
  const Summand a = Prepare(warp, step.a, x, extends);
  const Summand b = Prepare(warp, step.b, y, extends);
  const Summand c = Prepare(warp, step.c, z, extends);
  const std::uint64_t plus = a.plus + b.plus + c.plus;
  const std::uint32_t in0 = extends ? ReadPredicate(warp, step.word, 87) : 0;
  const std::uint32_t in1 = extends ? ReadPredicate(warp, step.word, 77) : 0;
  if ((in0 | in1) == 0 && !TakesPredicate(step.word, 81) && !TakesPredicate(step.word, 84)) {
    const auto low_plus = static_cast<std::uint32_t>(plus);
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = (a.lanes[i] ^ a.flip) + (b.lanes[i] ^ b.flip) + (c.lanes[i] ^ c.flip) + low_plus;
    }
    return Put(warp, step.target, mask, out);
  }
  std::uint32_t carry0 = 0;
  std::uint32_t carry1 = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint64_t sum = std::uint64_t{a.lanes[i] ^ a.flip} + (b.lanes[i] ^ b.flip) +
                              (c.lanes[i] ^ c.flip) + plus + (in0 >> i & 1) + (in1 >> i & 1);
    out[i] = static_cast<std::uint32_t>(sum);
    carry0 |= std::uint32_t{sum >> 32 >= 1} << i;
    carry1 |= std::uint32_t{sum >> 32 >= 2} << i;
  }
  PutPredicate(warp, step.word, 81, mask, carry0);
  PutPredicate(warp, step.word, 84, mask, carry1);
  Put(warp, step.target, mask, out);
}

void RunViadd(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t flip = step.b.negative ? ~0u : 0u;
  MapPlain(warp, step, mask, [flip](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    return a + (b ^ flip) + (flip & 1);
  });
}

void RunImad(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool extends = step.word.Bit(kCarryInBit);
  const std::uint32_t in = extends ? ReadPredicate(warp, step.word, 87) : 0;
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const Summand c = Prepare(warp, step.c, z, extends);
  const auto plus = static_cast<std::uint32_t>(c.plus);
  for (unsigned i = 0; i < kLanes; ++i) out[i] = a[i] * b[i] + (c.lanes[i] ^ c.flip) + plus;
  if (in != 0) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] += in >> i & 1;
  }
  Put(warp, step.target, mask, out);
}

// IMAD.WIDE and IMAD.HI: a product of 64 bits plus a pair; the whole sum or its upper half.
void RunImadWide(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool is_unsigned = !step.word.Bit(73);
  const bool extends = step.word.Bit(kCarryInBit);
  const std::uint32_t in = extends ? ReadPredicate(warp, step.word, 87) : 0;
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes u;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const std::uint32_t* low = Plain(warp, step.c, z, 0);
  const std::uint32_t* high = Plain(warp, step.c, u, 1);
  const bool sign_fills = step.c.kind == Operand::Kind::kFixed && !is_unsigned;
  std::array<std::uint64_t, kLanes> out;
  const bool plain = !sign_fills && !step.c.negative && in == 0;
  if (plain && !TakesPredicate(step.word, 81) && step.operation == Operation::kImadWide) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = std::uint64_t{a[i]} * b[i];
    for (unsigned i = 0; i < kLanes && !is_unsigned; ++i) {
      // Value that a negative factor adds beyond the signed product.
      const std::uint32_t upper = (static_cast<std::int32_t>(a[i]) < 0 ? b[i] : 0) +
                                  (static_cast<std::int32_t>(b[i]) < 0 ? a[i] : 0);
      out[i] -= std::uint64_t{upper} << 32;
    }
    for (unsigned i = 0; i < kLanes; ++i) out[i] += std::uint64_t{high[i]} << 32 | low[i];
    return PutPair(warp, step.target, mask, out);
  }
  std::uint32_t carry = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint64_t product =
        is_unsigned ? std::uint64_t{a[i]} * b[i]
                    : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a[i])} *
                                                 static_cast<std::int32_t>(b[i]));
    std::uint64_t c = std::uint64_t{high[i]} << 32 | low[i];
    if (sign_fills) c = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(low[i])});
    if (step.c.negative) c = extends ? ~c : 0 - c;
    out[i] = product + c;
    bool over = out[i] < c;
    out[i] += in >> i & 1;
    over = over || ((in >> i & 1) != 0 && out[i] == 0);
    carry |= std::uint32_t{over} << i;
  }
  PutPredicate(warp, step.word, 81, mask, carry);
  if (step.operation == Operation::kImadWide) return PutPair(warp, step.target, mask, out);
  Lanes upper;
  for (unsigned i = 0; i < kLanes; ++i) upper[i] = static_cast<std::uint32_t>(out[i] >> 32);
  Put(warp, step.target, mask, upper);
}

void RunLea(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const bool extends = word.Bit(kCarryInBit);
  const bool takes_upper = word.Bit(80);
  const bool sign_extends = word.Bit(73);
  const auto shift = static_cast<unsigned>(word.Bits(75, 5));
  const std::uint32_t in = extends ? ReadPredicate(warp, word, 87) : 0;
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const std::uint32_t* c = Plain(warp, step.c, z);
  const std::uint32_t flip_b = step.b.negative ? ~0u : 0u;
  std::uint64_t plus = step.b.negative && !extends ? 1 : 0;
  std::uint32_t carry = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    std::uint64_t wide = a[i];
    if (takes_upper) {
      wide |= sign_extends ? std::uint64_t{a[i] >> 31 != 0 ? ~0u : 0u} << 32
                           : std::uint64_t{c[i]} << 32;
    }
    wide <<= shift;
    auto first = static_cast<std::uint32_t>(takes_upper ? wide >> 32 : wide);
    std::uint64_t sum = plus + (in >> i & 1);
    if (step.a.negative) {
      first = ~first;
      sum += extends ? 0 : 1;
    }
    sum += std::uint64_t{first} + (b[i] ^ flip_b);
    out[i] = static_cast<std::uint32_t>(sum);
    carry |= std::uint32_t{sum >> 32 != 0} << i;
  }
  PutPredicate(warp, word, 81, mask, carry);
  Put(warp, step.target, mask, out);
}

void RunIabs(Warp& warp, const Step& step, std::uint32_t mask) {
  MapPlain(warp, step, mask, [](std::uint32_t, std::uint32_t b, std::uint32_t) {
    return static_cast<std::int32_t>(b) < 0 ? 0 - b : b;
  });
}

std::uint32_t FindEqual(const std::uint32_t* a, const std::uint32_t* b) {
  return Compare(a, b, [](std::uint32_t x, std::uint32_t y) { return x == y; });
}

std::uint32_t CompareIntegers(std::uint64_t code, const std::uint32_t* a, const std::uint32_t* b,
                              bool is_unsigned) {
  const std::uint32_t flip = is_unsigned ? 0x80000000u : 0;  // Orders unsigned numbers as signed.
  const std::uint32_t less = Compare(a, b, [flip](std::uint32_t x, std::uint32_t y) {
    return static_cast<std::int32_t>(x ^ flip) < static_cast<std::int32_t>(y ^ flip);
  });
  if ((code & 7) == 6) return ~less;
  if ((code & 7) == 1) return less;
  const std::uint32_t equal = FindEqual(a, b);
  std::uint32_t result = 0;
  if ((code & 1) != 0) result |= less;
  if ((code & 2) != 0) result |= equal;
  if ((code & 4) != 0) result |= ~(less | equal);
  return result;
}

void RunIsetp(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  Lanes x;
  Lanes y;
  const std::uint32_t* const a = Plain(warp, step.a, x);
  const std::uint32_t* const b = Plain(warp, step.b, y);
  std::uint32_t result = CompareIntegers(word.Bits(76, 3), a, b, !word.Bit(73));
  // With extension the lower words decide between equal upper ones.
  if (word.Bit(72)) {
    const std::uint32_t equal = FindEqual(a, b);
    const std::uint32_t lower = ReadPredicate(warp, word, 68);
    result = (equal & lower) | (~equal & result);
  }
  const std::uint32_t other = ReadPredicate(warp, word, 87);
  const std::uint64_t how = word.Bits(74, 2);
  PutPredicate(warp, word, 81, mask, Combine(how, result, other));
  PutPredicate(warp, word, 84, mask, Combine(how, ~result, other));
}

std::uint32_t ExtremeOf(std::uint32_t a, std::uint32_t b, std::uint64_t type, bool smaller) {
  const auto choose = [smaller](auto x, auto y) {
    return smaller ? std::min(x, y) : std::max(x, y);
  };
  const auto halves = [&]<typename Half>(Half) {
    const auto low = choose(static_cast<Half>(a), static_cast<Half>(b));
    const auto high = choose(static_cast<Half>(a >> 16), static_cast<Half>(b >> 16));
    return static_cast<std::uint16_t>(low) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
  };
  switch (type) {
    case 0:
      return choose(a, b);
    case 1:
      return static_cast<std::uint32_t>(
          choose(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
    case 2:
      return halves(std::uint16_t{});
    default:
      return halves(std::int16_t{});
  }
}

void RunMinMax(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t type = step.word.Bits(72, 2);
  const bool relu = step.word.Bit(76);
  const std::uint32_t smaller = ReadPredicate(warp, step.word, 87);
  const std::uint32_t flip = step.operation == Operation::kViaddmnmx && step.b.negative ? ~0u : 0u;
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const std::uint32_t* c = Plain(warp, step.c, z);
  for (unsigned i = 0; i < kLanes; ++i) {
    const bool less = (smaller >> i & 1) != 0;
    if (step.operation == Operation::kVimnmx) {
      out[i] = ExtremeOf(a[i], b[i], type, less);
    } else if (step.operation == Operation::kVimnmx3) {
      out[i] = ExtremeOf(ExtremeOf(a[i], b[i], type, less), c[i], type, less);
    } else {
      out[i] = ExtremeOf(a[i] + (b[i] ^ flip) + (flip & 1), c[i], type, less);
    }
    if (relu) out[i] = ExtremeOf(out[i], 0, type, false);
  }
  Put(warp, step.target, mask, out);
}

void RunIdp(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool sign_a = step.word.Bit(73);
  const bool sign_b = step.word.Bit(74);
  const auto byte = [](std::uint32_t value, unsigned at, bool has_sign) {
    const auto bits = static_cast<std::uint8_t>(value >> (8 * at));
    return has_sign ? static_cast<std::int32_t>(static_cast<std::int8_t>(bits))
                    : static_cast<std::int32_t>(bits);
  };
  MapPlain(warp, step, mask, [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t sum = c;
    for (unsigned i = 0; i < 4; ++i) {
      sum += static_cast<std::uint32_t>(byte(a, i, sign_a) * byte(b, i, sign_b));
    }
    return sum;
  });
}

void RunMov(Warp& warp, const Step& step, std::uint32_t mask) {
  MapPlain(warp, step, mask, [](std::uint32_t, std::uint32_t b, std::uint32_t) { return b; });
}

void RunSel(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t chosen = ReadPredicate(warp, step.word, 87);
  Lanes x;
  Lanes y;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  Select(chosen, a, b, out.data());
  Put(warp, step.target, mask, out);
}

}  // namespace

Handler FindIntegerHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kIadd3:
      return Widest<RunIadd3>();
    case Operation::kViadd:
      return word.Bit(73) ? nullptr : Widest<RunViadd>();
    case Operation::kImad:
      return Widest<RunImad>();
    case Operation::kImadWide:
    case Operation::kImadHi:
      return Widest<RunImadWide>();
    case Operation::kLea:
      return Widest<RunLea>();
    case Operation::kIabs:
      return RunIabs;
    case Operation::kIsetp:
      return Widest<RunIsetp>();
    case Operation::kVimnmx:
    case Operation::kVimnmx3:
      return Widest<RunMinMax>();
    case Operation::kViaddmnmx:
      return word.Bits(72, 2) < 2 ? Widest<RunMinMax>() : nullptr;
    case Operation::kIdp:
      return word.Bit(76) || word.Bit(75) ? nullptr : RunIdp;
    case Operation::kMov:
      return word.Bits(72, 4) == 15 || sass::FormOf(word) != 1 ? Widest<RunMov>() : nullptr;
    case Operation::kSel:
      return Widest<RunSel>();
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
