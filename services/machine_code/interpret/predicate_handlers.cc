// A predicate is one bit a lane, so logic on predicates and votes are operations on one word for
// the whole warp. Lanes that are not in the mask must not count in a vote, a match or a reduction,
// and keep their own predicate. The clock that a program can read is the number of thread
// instructions so far: it advances, so that loops which wait for time end, and it is the same in
// every run.
#include <algorithm>
#include <bit>
#include <cstring>

#include "services/machine_code/interpret/bit_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

void RunPlop3(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const std::uint32_t a = ReadPredicate(warp, word, 87);
  const std::uint32_t b = ReadPredicate(warp, word, 77);
  const std::uint32_t c =
      word.Bit(67) ? ReadUniformPredicate(warp, word, 68) : ReadPredicate(warp, word, 68);
  const std::uint64_t first = word.Bits(64, 3) | word.Bits(72, 5) << 3;
  const std::uint32_t one = ByTable(a, b, c, first);
  const std::uint32_t two = ByTable(a, b, c, word.Bits(16, 8));
  PutPredicate(warp, word, 81, mask, one);
  PutPredicate(warp, word, 84, mask, two);
}

// Predicates to the bits of a byte of a register, and back.
void RunP2r(Warp& warp, const Step& step, std::uint32_t mask) {
  const auto shift = static_cast<unsigned>(step.word.Bits(76, 2)) * 8;
  const auto wanted = static_cast<std::uint32_t>(step.word.Bits(32, 32)) & 0x7f;
  Lanes x;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  for (unsigned i = 0; i < kLanes; ++i) {
    std::uint32_t bits = 0;
    for (unsigned p = 0; p < 7; ++p) bits |= (warp.predicate[p] >> i & 1) << p;
    out[i] = (a[i] & ~(wanted << shift)) | (bits & wanted) << shift;
  }
  Put(warp, step.target, mask, out);
}

void RunR2p(Warp& warp, const Step& step, std::uint32_t mask) {
  const auto shift = static_cast<unsigned>(step.word.Bits(76, 2)) * 8;
  const auto wanted = static_cast<std::uint32_t>(step.word.Bits(32, 32)) & 0x7f;
  Lanes x;
  const std::uint32_t* a = Plain(warp, step.a, x);
  for (unsigned p = 0; p < 7; ++p) {
    if ((wanted >> p & 1) == 0) continue;
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < kLanes; ++i) bits |= (a[i] >> (shift + p) & 1) << i;
    warp.predicate[p] = (warp.predicate[p] & ~mask) | (bits & mask);
  }
}

bool Decides(std::uint64_t mode, std::uint32_t votes, std::uint32_t mask) {
  if (mode == 0) return votes == mask;
  if (mode == 1) return votes != 0;
  return votes == mask || votes == 0;
}

void RunVote(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t votes = ReadPredicate(warp, step.word, 87) & mask;
  const bool holds = Decides(step.word.Bits(72, 2), votes, mask);
  PutPredicate(warp, step.word, 81, mask, holds ? ~0u : 0u);
  Lanes out;
  out.fill(votes);
  Put(warp, step.target, mask, out);
}

void RunVoteu(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t votes = ReadPredicate(warp, step.word, 87) & mask;
  PutUniformPredicate(warp, step.word, 81, Decides(step.word.Bits(72, 2), votes, mask));
  const std::uint32_t target = UniformIn(step, 16);
  if (target != sass::kZeroUniform) warp.uniform[target] = votes;
}

// elect.sync: one of the lanes that take part, always the same one of the same lanes; PTX does not
// say which, and programs may not ask.
void RunElect(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t members = ReadPredicate(warp, step.word, 87) & mask;
  PutPredicate(warp, step.word, 81, mask, members & (~members + 1));
  const std::uint32_t target = UniformIn(step, 16);
  if (target != sass::kZeroUniform && members != 0) {
    warp.uniform[target] = static_cast<std::uint32_t>(std::countr_zero(members));
  }
}

// Finds, for each lane, the lanes with the same value; or all, where they have one value in common.
void RunMatch(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t number = step.word.Bits(24, 8);
  const bool pairs = step.word.Bit(73) && number != sass::kZeroRegister;
  const std::uint32_t* low = warp.Row(SourceRow(number));
  const std::uint32_t* high = pairs ? warp.Row(SourceRow(number + 1)) : low;
  Lanes out{};
  bool all = true;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) == 0) continue;
    for (unsigned j = 0; j < kLanes; ++j) {
      const bool same = low[i] == low[j] && high[i] == high[j];
      out[i] |= std::uint32_t{same && (mask >> j & 1) != 0} << j;
    }
    all = all && out[i] == mask;
  }
  if (!step.word.Bit(79)) {
    if (!all) out.fill(0);
    PutPredicate(warp, step.word, 81, mask, all ? ~0u : 0u);
  }
  Put(warp, step.target, mask, out);
}

// A special register as the lane sees it. Requires: IsSpecialKnown.
std::uint32_t SpecialValue(const Warp& warp, std::uint64_t number, unsigned lane) {
  const Block& block = *warp.block;
  const Dims& dims = warp.launch->block;
  const std::uint32_t thread = warp.first_thread + lane;
  switch (number) {
    case 0:
      return lane;
    case 33:
      return thread % dims.x;
    case 34:
      return thread / dims.x % dims.y;
    case 35:
      return thread / (dims.x * dims.y);
    case 37:
      return block.index.x;
    case 38:
      return block.index.y;
    case 39:
      return block.index.z;
    case 47:
      return static_cast<std::uint32_t>(kSharedWindow >> 32);
    case 56:
      return 1u << lane;
    case 57:
      return (1u << lane) - 1;
    case 58:
      return (2u << lane) - 1;
    case 59:
      return ~((2u << lane) - 1);
    case 60:
      return ~((1u << lane) - 1);
    case 80:
      return static_cast<std::uint32_t>(warp.launch->lane_steps);
    default:
      return 0;  // The block's place in its cluster, the multiprocessor, zero.
  }
}

bool IsSpecialKnown(std::uint64_t number) {
  switch (number) {
    case 0:
    case 33:
    case 34:
    case 35:
    case 37:
    case 38:
    case 39:
    case 47:
    case 56:
    case 57:
    case 58:
    case 59:
    case 60:
    case 67:
    case 80:
    case 136:
    case 255:
      return true;
    default:
      return false;
  }
}

void RunS2r(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t number = step.word.Bits(72, 8);
  Lanes out;
  const Dims& dims = warp.launch->block;
  if (number == 33 && dims.y == 1 && dims.z == 1) {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = warp.first_thread + i;
  } else if (number >= 37 && number <= 47) {
    out.fill(SpecialValue(warp, number, 0));
  } else {
    for (unsigned i = 0; i < kLanes; ++i) out[i] = SpecialValue(warp, number, i);
  }
  Put(warp, step.target, mask, out);
  if (step.operation == Operation::kCs2r && step.word.Bit(80)) {
    out.fill(0);
    Put(warp, NextRow(step.target), mask, out);
  }
}

void RunS2ur(Warp& warp, const Step& step, std::uint32_t) {
  warp.uniform[step.target] = SpecialValue(warp, step.word.Bits(72, 8), 0);
}

void RunR2ur(Warp& warp, const Step& step, std::uint32_t mask) {
  const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
  const std::uint32_t target = UniformIn(step, 16);
  if (target != sass::kZeroUniform) {
    warp.uniform[target] = warp.Row(SourceRow(step.word.Bits(24, 8)))[lane];
  }
  // The predicate lets agreeing lanes skip the wait of BRA.DIV; here they always wait.
  PutPredicate(warp, step.word, 81, mask, 0);
}

std::uint32_t Reduced(std::uint64_t how, bool is_signed, const std::uint32_t* values,
                      std::uint32_t mask) {
  std::uint32_t result = 0;
  bool first = true;
  const std::uint32_t flip = is_signed ? 0x80000000u : 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const std::uint32_t value = values[i];
    if (first) {
      result = value;
      first = false;
      continue;
    }
    switch (how) {
      case 0:
        result &= value;
        break;
      case 1:
        result |= value;
        break;
      case 2:
        result ^= value;
        break;
      case 3:
        result += value;
        break;
      case 4:
        result = (value ^ flip) < (result ^ flip) ? value : result;
        break;
      default:
        result = (value ^ flip) > (result ^ flip) ? value : result;
        break;
    }
  }
  return result;
}

void RunRedux(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t target = UniformIn(step, 16);
  if (target == sass::kZeroUniform) return;
  warp.uniform[target] = Reduced(step.word.Bits(78, 3), step.word.Bit(73),
                                 warp.Row(SourceRow(step.word.Bits(24, 8))), mask);
}

}  // namespace

Handler FindPredicateHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kPlop3:
      return RunPlop3;
    case Operation::kP2r:
      return RunP2r;
    case Operation::kR2p:
      return RunR2p;
    case Operation::kVote:
      return word.Bits(72, 2) < 3 ? RunVote : nullptr;
    case Operation::kVoteu:
      return word.Bits(72, 2) < 3 ? RunVoteu : nullptr;
    case Operation::kElect:
      return RunElect;
    case Operation::kMatch:
      return RunMatch;
    case Operation::kS2r:
    case Operation::kCs2r:
      return IsSpecialKnown(word.Bits(72, 8)) ? Widest<RunS2r>() : nullptr;
    case Operation::kS2ur:
      return IsSpecialKnown(word.Bits(72, 8)) ? RunS2ur : nullptr;
    case Operation::kR2ur:
      return word.Bit(84) ? nullptr : RunR2ur;
    case Operation::kRedux:
      return word.Bits(78, 3) < 6 ? RunRedux : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
