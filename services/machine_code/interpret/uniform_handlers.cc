// Uniform instructions run once for a warp, so their operands are scalars and the mask of lanes is
// not looked at. Uniform predicates are still kept as 32 equal bits: instructions of lanes take
// them as operands. The arithmetic repeats that of integer_handlers.cc on one number; a rule about
// carries or signs must be changed in both. Set drops a write to URZ, so that it stays zero.
#include <bit>
#include <cstring>

#include "services/machine_code/interpret/bit_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

bool Uniformly(const Warp& warp, const Word& word, unsigned at) {
  return (ReadUniformPredicate(warp, word, at) & 1) != 0;
}

void Set(Warp& warp, const Step& step, std::uint32_t value, unsigned word = 0) {
  if (step.target + word < sass::kZeroUniform) warp.uniform[step.target + word] = value;
}

void RunUiadd3(Warp& warp, const Step& step, std::uint32_t) {
  const bool extends = step.word.Bit(74);
  std::uint64_t sum = 0;
  for (const Operand* operand : {&step.a, &step.b, &step.c}) {
    const std::uint32_t value = Scalar(warp, *operand);
    sum += operand->negative ? ~value : value;
    if (operand->negative && !extends) ++sum;
  }
  if (extends) {
    sum += std::uint64_t{Uniformly(warp, step.word, 87)} + Uniformly(warp, step.word, 77);
  }
  Set(warp, step, static_cast<std::uint32_t>(sum));
  PutUniformPredicate(warp, step.word, 81, sum >> 32 >= 1);
  PutUniformPredicate(warp, step.word, 84, sum >> 32 >= 2);
}

std::uint64_t Pair(const Warp& warp, const Operand& operand) {
  const std::uint64_t low = Scalar(warp, operand, 0);
  const bool single = operand.kind == Operand::Kind::kFixed;
  return low | std::uint64_t{single ? 0 : Scalar(warp, operand, 1)} << 32;
}

void RunUimad(Warp& warp, const Step& step, std::uint32_t) {
  const bool is_unsigned = !step.word.Bit(73);
  const bool extends = step.word.Bit(74);
  const std::uint32_t a = Scalar(warp, step.a);
  const std::uint32_t b = Scalar(warp, step.b);
  const bool wide = step.operation == Operation::kUimadWide;
  const std::uint64_t product =
      is_unsigned ? std::uint64_t{a} * b
                  : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                               static_cast<std::int32_t>(b));
  std::uint64_t c = wide ? Pair(warp, step.c) : Scalar(warp, step.c);
  if (step.c.negative) c = extends ? ~c : 0 - c;
  std::uint64_t sum = product + c;
  bool carry = sum < c;
  if (extends && Uniformly(warp, step.word, 87)) carry = ++sum == 0 || carry;
  Set(warp, step, static_cast<std::uint32_t>(sum));
  if (!wide) return;
  Set(warp, step, static_cast<std::uint32_t>(sum >> 32), 1);
  PutUniformPredicate(warp, step.word, 81, carry);
}

void RunUlea(Warp& warp, const Step& step, std::uint32_t) {
  const Word& word = step.word;
  const bool extends = word.Bit(74);
  const std::uint32_t a = Scalar(warp, step.a);
  std::uint64_t wide = a;
  if (word.Bit(80)) {
    const std::uint32_t upper = word.Bit(73) ? (a >> 31 != 0 ? ~0u : 0u) : Scalar(warp, step.c);
    wide |= std::uint64_t{upper} << 32;
  }
  wide <<= word.Bits(75, 5);
  auto first = static_cast<std::uint32_t>(word.Bit(80) ? wide >> 32 : wide);
  std::uint32_t second = Scalar(warp, step.b);
  std::uint64_t sum = 0;
  if (step.a.negative) {
    first = ~first;
    sum += extends ? 0 : 1;
  }
  if (step.b.negative) {
    second = ~second;
    sum += extends ? 0 : 1;
  }
  sum += std::uint64_t{first} + second;
  if (extends && Uniformly(warp, word, 87)) ++sum;
  Set(warp, step, static_cast<std::uint32_t>(sum));
  PutUniformPredicate(warp, word, 81, sum >> 32 != 0);
}

void RunUlop3(Warp& warp, const Step& step, std::uint32_t) {
  const std::uint32_t result = ByTable(Scalar(warp, step.a), Scalar(warp, step.b),
                                       Scalar(warp, step.c), step.word.Bits(72, 8));
  const bool other = Uniformly(warp, step.word, 87);
  Set(warp, step, result);
  PutUniformPredicate(warp, step.word, 81,
                      step.word.Bit(80) ? result != 0 && other : result != 0 || other);
}

void RunUplop3(Warp& warp, const Step& step, std::uint32_t) {
  const Word& word = step.word;
  const std::uint32_t a = ReadUniformPredicate(warp, word, 87);
  const std::uint32_t b = ReadUniformPredicate(warp, word, 77);
  const std::uint32_t c = ReadUniformPredicate(warp, word, 68);
  const std::uint64_t table = word.Bits(64, 3) | word.Bits(72, 5) << 3;
  PutUniformPredicate(warp, word, 81, (ByTable(a, b, c, table) & 1) != 0);
  PutUniformPredicate(warp, word, 84, (ByTable(a, b, c, word.Bits(16, 8)) & 1) != 0);
}

void RunUisetp(Warp& warp, const Step& step, std::uint32_t) {
  const Word& word = step.word;
  const std::uint32_t flip = word.Bit(73) ? 0x80000000u : 0;
  const std::uint32_t a = Scalar(warp, step.a) ^ flip;
  const std::uint32_t b = Scalar(warp, step.b) ^ flip;
  const std::uint64_t code = word.Bits(76, 3);
  bool result =
      ((code & 1) != 0 && a < b) || ((code & 2) != 0 && a == b) || ((code & 4) != 0 && a > b);
  if (word.Bit(72) && a == b) result = Uniformly(warp, word, 68);
  const std::uint32_t other = ReadUniformPredicate(warp, word, 87);
  const std::uint64_t how = word.Bits(74, 2);
  PutUniformPredicate(warp, word, 81, (Combine(how, result ? 1 : 0, other) & 1) != 0);
  PutUniformPredicate(warp, word, 84, (Combine(how, result ? 0 : 1, other) & 1) != 0);
}

void RunUsel(Warp& warp, const Step& step, std::uint32_t) {
  const bool first = Uniformly(warp, step.word, 87);
  Set(warp, step, Scalar(warp, first ? step.a : step.b));
}

void RunUmov(Warp& warp, const Step& step, std::uint32_t) { Set(warp, step, Scalar(warp, step.b)); }

void RunUshf(Warp& warp, const Step& step, std::uint32_t) {
  Set(warp, step,
      FunnelShift(step.word)(Scalar(warp, step.a), Scalar(warp, step.b), Scalar(warp, step.c)));
}

void RunUprmt(Warp& warp, const Step& step, std::uint32_t) {
  Set(warp, step,
      Permute(Scalar(warp, step.a), Scalar(warp, step.b), Scalar(warp, step.c),
              step.word.Bits(72, 3)));
}

void RunUbmsk(Warp& warp, const Step& step, std::uint32_t) {
  Set(warp, step, BitField(Scalar(warp, step.a), Scalar(warp, step.b), step.word.Bit(75)));
}

void RunUflo(Warp& warp, const Step& step, std::uint32_t) {
  const std::uint32_t flip = step.word.Bit(63) ? ~0u : 0u;
  const std::uint32_t found =
      FindLeading(Scalar(warp, step.b) ^ flip, step.word.Bit(73), step.word.Bit(74));
  Set(warp, step, found);
  PutUniformPredicate(warp, step.word, 81, found != ~0u);
}

void RunUpopc(Warp& warp, const Step& step, std::uint32_t) {
  const std::uint32_t flip = step.word.Bit(63) ? ~0u : 0u;
  Set(warp, step, static_cast<std::uint32_t>(std::popcount(Scalar(warp, step.b) ^ flip)));
}

void RunUbrev(Warp& warp, const Step& step, std::uint32_t) {
  Set(warp, step, Reversed(Scalar(warp, step.b)));
}

// Uniform predicates to the bits of a byte of a register.
void RunUp2ur(Warp& warp, const Step& step, std::uint32_t) {
  const auto shift = static_cast<unsigned>(step.word.Bits(76, 2)) * 8;
  const auto wanted = static_cast<std::uint32_t>(step.word.Bits(32, 32)) & 0x7f;
  std::uint32_t bits = 0;
  for (unsigned p = 0; p < 7; ++p) bits |= (warp.uniform_predicate[p] & 1) << p;
  Set(warp, step, (Scalar(warp, step.a) & ~(wanted << shift)) | (bits & wanted) << shift);
}

}  // namespace

Handler FindUniformHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kUiadd3:
      return RunUiadd3;
    case Operation::kUimad:
    case Operation::kUimadWide:
      return RunUimad;
    case Operation::kUlea:
      return RunUlea;
    case Operation::kUlop3:
      return RunUlop3;
    case Operation::kUplop3:
      return RunUplop3;
    case Operation::kUisetp:
      return RunUisetp;
    case Operation::kUsel:
      return RunUsel;
    case Operation::kUmov:
      return RunUmov;
    case Operation::kUshf:
      return RunUshf;
    case Operation::kUprmt:
      return word.Bits(72, 3) < 7 ? RunUprmt : nullptr;
    case Operation::kUbmsk:
      return RunUbmsk;
    case Operation::kUflo:
      return RunUflo;
    case Operation::kUpopc:
      return RunUpopc;
    case Operation::kUbrev:
      return RunUbrev;
    case Operation::kUp2ur:
      return RunUp2ur;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
