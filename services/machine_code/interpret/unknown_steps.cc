// A step's lists of registers (effect.h) give the rule for most: a result is unknown in a lane in
// which an operand is. Choices and logic have sharper rules, because kernels use them to keep
// unknown numbers out: a selection takes the operand that its predicate names, and a table of bits
// says which of its inputs matter. A lane whose guard is unknown is not run, and its results are
// unknown: the old value or the new one. Which lanes take part is known here at any time, since a
// branch that depends on an unknown value ends the launch. Everything that is not listed ends it
// too: a value that is called unknown without need costs a number, a value that is called known
// without right is wrong.
#include "services/machine_code/interpret/unknown_steps.h"

#include <bit>

#include "services/machine_code/interpret/bit_math.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/unknown_memory.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

std::uint64_t AddressOf(const Warp& warp, const Step& step) {
  const auto index = &step - warp.launch->program->steps.data();
  return static_cast<std::uint64_t>(index) * sass::kWordBytes;
}

std::uint32_t AllOrNone(bool value) { return value ? ~0u : 0u; }

// Lanes in which something that the step reads is unknown.
std::uint32_t UnknownOperands(const WarpUnknowns& unknowns, const Effect& effect) {
  std::uint32_t unknown = 0;
  for (const std::uint16_t row : effect.rows_read) unknown |= unknowns.rows[row];
  for (const std::uint16_t number : effect.uniforms_read) unknown |= unknowns.uniform[number];
  for (const std::uint8_t number : effect.predicates_read) unknown |= unknowns.predicate[number];
  for (const std::uint8_t number : effect.uniform_predicates_read) {
    unknown |= unknowns.uniform_predicate[number];
  }
  return unknown;
}

// Marks all results, those of lanes by lane.
void MarkResults(WarpUnknowns& unknowns, const Effect& effect, const Lineup& lanes,
                 std::uint32_t unknown) {
  const std::uint32_t uniform = AllOrNone(((unknown & lanes.all()) | lanes.perhaps) != 0);
  for (const std::uint16_t row : effect.rows_written)
    PutUnknown(unknowns.rows[row], lanes, unknown);
  for (const std::uint8_t number : effect.predicates_written) {
    PutUnknown(unknowns.predicate[number], lanes, unknown);
  }
  for (const std::uint16_t number : effect.uniforms_written) unknowns.uniform[number] = uniform;
  for (const std::uint8_t number : effect.uniform_predicates_written) {
    unknowns.uniform_predicate[number] = uniform;
  }
}

std::uint32_t UnknownOf(const WarpUnknowns& unknowns, const Operand& operand) {
  if (operand.kind == Operand::Kind::kRow) return unknowns.rows[operand.row];
  if (operand.kind == Operand::Kind::kUniform) return unknowns.uniform[operand.uniform];
  return 0;
}

std::uint32_t UnknownAt(const WarpUnknowns& unknowns, const Word& word, unsigned at) {
  return unknowns.predicate[word.Bits(at, 3)];
}

// SEL and FSEL.
std::uint32_t UnknownSelected(Warp& warp, const Step& step) {
  const WarpUnknowns& unknowns = *warp.unknowns;
  const std::uint32_t chosen = ReadPredicate(warp, step.word, 87);
  return UnknownAt(unknowns, step.word, 87) | (chosen & UnknownOf(unknowns, step.a)) |
         (~chosen & UnknownOf(unknowns, step.b));
}

// Returns the bits of a function of three words that may differ when the unknown words do.
std::uint32_t Dependent(const std::array<std::uint32_t, 3>& values,
                        const std::array<std::uint32_t, 3>& unknown, std::uint64_t table) {
  const std::uint32_t result = ByTable(values[0], values[1], values[2], table);
  std::uint32_t differs = 0;
  for (unsigned flipped = 1; flipped < 8; ++flipped) {
    std::array<std::uint32_t, 3> other = values;
    for (unsigned i = 0; i < 3; ++i) {
      if ((flipped >> i & 1) != 0) other[i] ^= unknown[i];
    }
    differs |= result ^ ByTable(other[0], other[1], other[2], table);
  }
  return differs;
}

std::uint32_t UnknownLogic(Warp& warp, const Step& step) {
  const WarpUnknowns& unknowns = *warp.unknowns;
  const std::array<std::uint32_t, 3> unknown = {
      UnknownOf(unknowns, step.a), UnknownOf(unknowns, step.b), UnknownOf(unknowns, step.c)};
  std::uint32_t result = unknown[0] | unknown[1] | unknown[2];
  if (result == 0) return 0;
  Lanes x;
  Lanes y;
  Lanes z;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const std::uint32_t* c = Plain(warp, step.c, z);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((result >> i & 1) == 0) continue;
    const auto flips = [i](std::uint32_t lanes) { return AllOrNone((lanes >> i & 1) != 0); };
    const std::uint32_t differs =
        Dependent({a[i], b[i], c[i]}, {flips(unknown[0]), flips(unknown[1]), flips(unknown[2])},
                  step.word.Bits(72, 8));
    if (differs == 0) result &= ~(1u << i);
  }
  return result;
}

void MarkLogic(Warp& warp, const Step& step, const Effect& effect, const Lineup& lanes,
               std::uint32_t unknown) {
  WarpUnknowns& unknowns = *warp.unknowns;
  const std::uint32_t with_predicate =
      unknown | (effect.predicates_read.empty() ? 0 : UnknownAt(unknowns, step.word, 87));
  for (const std::uint8_t number : effect.predicates_written) {
    PutUnknown(unknowns.predicate[number], lanes, with_predicate);
  }
  for (const std::uint16_t row : effect.rows_written)
    PutUnknown(unknowns.rows[row], lanes, unknown);
}

// PLOP3: by the tables of its two results.
struct TwoMasks {
  std::uint32_t first;
  std::uint32_t second;
};
TwoMasks UnknownPredicateLogic(const Warp& warp, const Word& word) {
  const WarpUnknowns& unknowns = *warp.unknowns;
  const std::uint32_t c =
      word.Bit(67) ? ReadUniformPredicate(warp, word, 68) : ReadPredicate(warp, word, 68);
  const std::uint32_t unknown_c =
      word.Bit(67) ? unknowns.uniform_predicate[word.Bits(68, 3)] : UnknownAt(unknowns, word, 68);
  const std::array<std::uint32_t, 3> values = {ReadPredicate(warp, word, 87),
                                               ReadPredicate(warp, word, 77), c};
  const std::array<std::uint32_t, 3> unknown = {UnknownAt(unknowns, word, 87),
                                                UnknownAt(unknowns, word, 77), unknown_c};
  return {Dependent(values, unknown, word.Bits(64, 3) | word.Bits(72, 5) << 3),
          Dependent(values, unknown, word.Bits(16, 8))};
}

void RunPredicateLogic(Warp& warp, const Step& step, const Lineup& lanes) {
  const TwoMasks unknown = UnknownPredicateLogic(warp, step.word);
  if (lanes.certain != 0) step.run(warp, step, lanes.certain);
  const auto put = [&](unsigned at, std::uint32_t mask) {
    const auto number = step.word.Bits(at, 3);
    if (number == sass::kTruePredicate) return;
    PutUnknown(warp.unknowns->predicate[number], lanes, mask);
  };
  put(81, unknown.first);
  put(84, unknown.second);  // Last, as the handler writes it.
}

bool Compares(Operation operation) {
  return operation == Operation::kIsetp || operation == Operation::kFsetp ||
         operation == Operation::kDsetp;
}

// Lanes in which the predicate that a comparison is combined with settles the outcome alone: false
// with "and", true with "or".
std::uint32_t Settled(const Warp& warp, const Word& word) {
  const std::uint32_t other = ReadPredicate(warp, word, 87);
  const std::uint64_t how = word.Bits(74, 2);
  const std::uint32_t settles = how == 0 ? ~other : how == 1 ? other : 0;
  return settles & ~UnknownAt(*warp.unknowns, word, 87);
}

// Returns the lanes in which a step of control looks at something unknown, and all lanes for a step
// that is not listed.
std::uint32_t UnknownInControl(const WarpUnknowns& unknowns, const Step& step,
                               std::uint32_t lanes) {
  const Word& word = step.word;
  const std::uint32_t form = sass::FormOf(word);
  const std::uint32_t predicate = UnknownAt(unknowns, word, 87) & lanes;
  const auto row = [&](unsigned at) { return unknowns.rows[SourceRow(word.Bits(at, 8))] & lanes; };
  switch (step.operation) {
    case Operation::kBra:
      if (form == 2) return predicate | unknowns.uniform_predicate[word.Bits(24, 3)];
      // Those for diverged or converged lanes name them.
      return predicate | (word.Bits(32, 2) >= 2 ? unknowns.uniform[UniformIn(step, 24)] : 0);
    case Operation::kCall:
    case Operation::kExit:
    case Operation::kBsync:
    case Operation::kBreak:
      return predicate;
    case Operation::kBrx:
    case Operation::kRet:
      return predicate | row(24);
    case Operation::kBrxu:
      return predicate | unknowns.uniform[UniformIn(step, 24)];
    case Operation::kBmovFromRegister:
      return row(32);
    case Operation::kWarpsync:
      return form == 4 ? 0 : row(24);
    case Operation::kBar:
      return predicate | (form == 1 || form == 2 || form == 4 ? row(32) : 0);
    case Operation::kBmovToRegister:
    case Operation::kB2r:
    case Operation::kBssy:
    case Operation::kYield:
    case Operation::kNop:
    case Operation::kNanosleep:
    case Operation::kMembar:
    case Operation::kErrbar:
    case Operation::kDepbar:
    case Operation::kLdgdepbar:
    case Operation::kCctl:
    case Operation::kPreexit:
    case Operation::kLepc:
    case Operation::kCallAbsolute:
    case Operation::kBpt:
    case Operation::kEndcollective:
      return 0;
    default:
      return ~0u;
  }
}

}  // namespace

void StartUnknowns(Block& block) {
  BlockUnknowns& unknowns = block.unknowns;
  unknowns.warps.assign(block.warps.size(), WarpUnknowns{});
  unknowns.shared.assign(block.shared.size(), 0);
  unknowns.local.assign(block.local.size(), 0);
  for (std::size_t i = 0; i < block.warps.size(); ++i) {
    block.warps[i].unknowns = &unknowns.warps[i];
  }
}

void RunTracked(Warp& warp, const Step& step, const Lineup& lanes) {
  const auto index = static_cast<std::size_t>(&step - warp.launch->program->steps.data());
  const Effect& effect = warp.launch->effects[index];
  if (effect.kind == Effect::Kind::kNone) {
    warp.launch->End(Stop::kUnknownWay, AddressOf(warp, step));
    return;
  }
  if (step.operation == Operation::kPlop3) return RunPredicateLogic(warp, step, lanes);
  if (effect.kind == Effect::Kind::kOwn && RunTrackedMemory(warp, step, lanes)) return;

  // Before the step runs: a target may be an operand.
  WarpUnknowns& unknowns = *warp.unknowns;
  const bool logic = step.operation == Operation::kLop3;
  const bool selects = step.operation == Operation::kSel || step.operation == Operation::kFsel;
  std::uint32_t unknown = logic     ? UnknownLogic(warp, step)
                          : selects ? UnknownSelected(warp, step)
                                    : UnknownOperands(unknowns, effect);
  if (unknown != 0 && Compares(step.operation)) unknown &= ~Settled(warp, step.word);
  if (effect.kind == Effect::Kind::kAll) unknown = AllOrNone(unknown != 0 || lanes.perhaps != 0);
  if (effect.kind == Effect::Kind::kTaking) {
    unknown = AllOrNone((unknown & lanes.certain) != 0 || lanes.perhaps != 0);
  }
  if (lanes.certain != 0) step.run(warp, step, lanes.certain);
  if (logic) return MarkLogic(warp, step, effect, lanes, unknown);
  MarkResults(unknowns, effect, lanes, unknown);
}

bool AdmitControl(Warp& warp, const Step& step, const Lineup& lanes) {
  WarpUnknowns& unknowns = *warp.unknowns;
  const std::uint32_t unknown = lanes.perhaps | UnknownInControl(unknowns, step, lanes.all());
  if (unknown != 0) {
    warp.launch->End(Stop::kUnknownWay, AddressOf(warp, step));
    return false;
  }
  // Both get what barriers hold, which is known.
  if (step.operation == Operation::kBmovToRegister || step.operation == Operation::kB2r) {
    PutUnknown(unknowns.rows[step.target], lanes, 0);
  }
  const auto number = step.word.Bits(81, 3);
  if (step.operation == Operation::kB2r && number != sass::kTruePredicate) {
    PutUnknown(unknowns.predicate[number], lanes, 0);
  }
  return true;
}

}  // namespace eidolon::interpret
