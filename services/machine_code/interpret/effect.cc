// This must be read side by side with the handlers: each line says what the handler of an operation
// takes from its operands (Plain, Signed, Scalar, ReadPredicate) and where it puts its results. An
// operation that is missing here has no known effect, and a launch that meets one while it holds
// unknown values ends. A read too many makes more values unknown than are; a read
// too few would call an unknown value known. effect_test.cc runs the handlers with different
// numbers in all that is not listed, and compares.
#include "services/machine_code/interpret/effect.h"

#include "services/machine_code/interpret/lenient.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;
using Kind = Effect::Kind;

constexpr std::uint64_t kDoubleFormat = 3;  // Of floating point formats.
constexpr std::uint64_t kLongInteger = 3;   // Of integers: 64 bits.
constexpr unsigned kExtendsBit = 74;

// Notes what an operation uses, chained: Lanes().Sources(2).Target().
class EffectWriter {
 public:
  explicit EffectWriter(const Step& step) : step_(step) {}

  Effect Done(Kind kind = Kind::kEach) {
    effect_.kind = kind;
    return effect_;
  }

  EffectWriter& A(unsigned words = 1) { return Read(step_.a, words); }
  EffectWriter& B(unsigned words = 1) { return Read(step_.b, words); }
  EffectWriter& C(unsigned words = 1) { return Read(step_.c, words); }

  // The register whose number is at this bit.
  EffectWriter& Register(unsigned at, unsigned words = 1) {
    const unsigned row = SourceRow(step_.word.Bits(at, 8));
    for (unsigned i = 0; i < words && row != kZeroRow; ++i) AddRow(row + i);
    return *this;
  }

  EffectWriter& Target(unsigned words = 1) { return TargetRows(step_.target, words); }
  EffectWriter& TargetRows(unsigned row, unsigned words) {
    for (unsigned i = 0; i < words && row >= kFirstRow; ++i) {
      effect_.rows_written.Add(static_cast<std::uint16_t>(row + i));
    }
    return *this;
  }

  EffectWriter& UniformTarget(unsigned words = 1) { return Uniforms(step_.target, words); }
  // The uniform register whose number is at bit 16.
  EffectWriter& UniformTarget16() { return Uniforms(UniformIn(step_, 16), 1); }

  EffectWriter& Reads(unsigned at) { return AddPredicate(at, effect_.predicates_read); }
  EffectWriter& ReadsUniform(unsigned at) {
    return AddPredicate(at, effect_.uniform_predicates_read);
  }
  EffectWriter& Writes(unsigned at) { return AddPredicate(at, effect_.predicates_written); }
  EffectWriter& WritesUniform(unsigned at) {
    return AddPredicate(at, effect_.uniform_predicates_written);
  }

  // Predicates of a set of seven.
  EffectWriter& ReadsSet(std::uint64_t set, bool uniform) {
    for (std::uint8_t i = 0; i < 7; ++i) {
      if ((set >> i & 1) == 0) continue;
      (uniform ? effect_.uniform_predicates_read : effect_.predicates_read).Add(i);
    }
    return *this;
  }
  EffectWriter& WritesSet(std::uint64_t set) {
    for (std::uint8_t i = 0; i < 7; ++i) {
      if ((set >> i & 1) != 0) effect_.predicates_written.Add(i);
    }
    return *this;
  }

 private:
  EffectWriter& Read(const Operand& operand, unsigned words) {
    if (operand.kind == Operand::Kind::kRow && operand.row != kZeroRow) {
      for (unsigned i = 0; i < words; ++i) AddRow(operand.row + i);
    }
    if (operand.kind == Operand::Kind::kUniform && operand.uniform != sass::kZeroUniform) {
      for (unsigned i = 0; i < words; ++i) {
        effect_.uniforms_read.Add(static_cast<std::uint16_t>(operand.uniform + i));
      }
    }
    return *this;
  }

  void AddRow(unsigned row) { effect_.rows_read.Add(static_cast<std::uint16_t>(row)); }

  EffectWriter& Uniforms(unsigned number, unsigned words) {
    for (unsigned i = 0; i < words && number + i < sass::kZeroUniform; ++i) {
      effect_.uniforms_written.Add(static_cast<std::uint16_t>(number + i));
    }
    return *this;
  }

  template <typename Numbers>
  EffectWriter& AddPredicate(unsigned at, Numbers& numbers) {
    const auto number = step_.word.Bits(at, 3);
    if (number != sass::kTruePredicate) numbers.Add(static_cast<std::uint8_t>(number));
    return *this;
  }

  const Step& step_;
  Effect effect_;
};

Effect FloatEffect(const Step& step) {
  EffectWriter use(step);
  switch (step.operation) {
    case Operation::kFadd:
    case Operation::kFmul:
      return use.A().B().Target().Done();
    case Operation::kFfma:
      return use.A().B().C().Target().Done();
    case Operation::kFadd2:
    case Operation::kFmul2:
    case Operation::kFfma2:
      return use.A(2).B(2).C(2).Target(2).Done();
    case Operation::kFsel:
      return use.A().B().Reads(87).Target().Done(Kind::kOwn);
    case Operation::kFmnmx:
    case Operation::kFset:
      return use.A().B().Reads(87).Target().Done();
    case Operation::kFmnmx3:
      return use.A().B().C().Reads(87).Target().Done();
    case Operation::kFsetp:
      return use.A().B().Reads(87).Writes(81).Writes(84).Done();
    case Operation::kFchk:
      return use.A().B().Writes(81).Done();
    case Operation::kMufu:
      return use.B().Target().Done();
    case Operation::kDadd:
    case Operation::kDmul:
      return use.A(2).B(2).Target(2).Done();
    case Operation::kDfma:
      return use.A(2).B(2).C(2).Target(2).Done();
    case Operation::kDsetp:
      return use.A(2).B(2).Reads(87).Writes(81).Writes(84).Done();
    default:
      return {};
  }
}

Effect HalfEffect(const Step& step) {
  EffectWriter use(step);
  switch (step.operation) {
    case Operation::kHadd2:
    case Operation::kHmul2:
      return use.A().B().Target().Done();
    case Operation::kHfma2:
    case Operation::kHfma2Mma:
      return use.A().B().C().Target().Done();
    case Operation::kHmnmx2:
    case Operation::kHset2:
      return use.A().B().Reads(87).Target().Done();
    case Operation::kHsetp2:
      return use.A().B().Reads(87).Writes(81).Writes(84).Done();
    default:
      return {};
  }
}

Effect ConvertEffect(const Step& step) {
  EffectWriter use(step);
  const Word& word = step.word;
  const auto words = [&word](unsigned at, unsigned bits, std::uint64_t wide) {
    return word.Bits(at, bits) == wide ? 2u : 1u;
  };
  switch (step.operation) {
    case Operation::kF2f:
      return use.B(words(84, 3, kDoubleFormat)).Target(words(75, 3, kDoubleFormat)).Done();
    case Operation::kFrnd:
      return use.B(words(75, 3, kDoubleFormat)).Target(words(75, 3, kDoubleFormat)).Done();
    case Operation::kF2i:
      return use.B(words(84, 3, kDoubleFormat)).Target(words(75, 2, kLongInteger)).Done();
    case Operation::kI2f:
      return use.B(words(84, 2, kLongInteger)).Target(words(75, 3, kDoubleFormat)).Done();
    case Operation::kI2fp:
      return use.B().Target().Done();
    case Operation::kF2fp:
      return use.A().B().Target().Done();
    default:
      return {};
  }
}

Effect IntegerEffect(const Step& step) {
  EffectWriter use(step);
  const bool extends = step.word.Bit(kExtendsBit);
  switch (step.operation) {
    case Operation::kIadd3:
      if (extends) use.Reads(87).Reads(77);
      return use.A().B().C().Writes(81).Writes(84).Target().Done();
    case Operation::kViadd:
      return use.A().B().Target().Done();
    case Operation::kImad:
      if (extends) use.Reads(87);
      return use.A().B().C().Target().Done();
    case Operation::kImadWide:
    case Operation::kImadHi:
      if (extends) use.Reads(87);
      return use.A()
          .B()
          .C(2)
          .Writes(81)
          .Target(step.operation == Operation::kImadWide ? 2 : 1)
          .Done();
    case Operation::kLea:
      if (extends) use.Reads(87);
      return use.A().B().C().Writes(81).Target().Done();
    case Operation::kIabs:
    case Operation::kMov:
      return use.B().Target().Done();
    case Operation::kIsetp:
      if (step.word.Bit(72)) use.Reads(68);
      return use.A().B().Reads(87).Writes(81).Writes(84).Done();
    case Operation::kVimnmx:
      return use.A().B().Reads(87).Target().Done();
    case Operation::kVimnmx3:
    case Operation::kViaddmnmx:
      return use.A().B().C().Reads(87).Target().Done();
    case Operation::kIdp:
      return use.A().B().C().Target().Done();
    case Operation::kSel:
      return use.A().B().Reads(87).Target().Done(Kind::kOwn);
    default:
      return {};
  }
}

Effect BitEffect(const Step& step) {
  EffectWriter use(step);
  switch (step.operation) {
    case Operation::kLop3:
      if (step.word.Bits(81, 3) != sass::kTruePredicate) use.Reads(87);
      return use.A().B().C().Writes(81).Target().Done(Kind::kOwn);
    case Operation::kPrmt:
    case Operation::kShf:
      return use.A().B().C().Target().Done();
    case Operation::kSgxt:
    case Operation::kBmsk:
      return use.A().B().Target().Done();
    case Operation::kPopc:
    case Operation::kBrev:
      return use.B().Target().Done();
    case Operation::kFlo:
      return use.B().Writes(81).Target().Done();
    default:
      return {};
  }
}

Effect PredicateEffect(const Step& step) {
  EffectWriter use(step);
  const Word& word = step.word;
  switch (step.operation) {
    case Operation::kPlop3:
      if (word.Bit(67)) {
        use.ReadsUniform(68);
      } else {
        use.Reads(68);
      }
      return use.Reads(87).Reads(77).Writes(81).Writes(84).Done(Kind::kOwn);
    case Operation::kP2r:
      return use.A().ReadsSet(word.Bits(32, 7), false).Target().Done();
    case Operation::kR2p:
      return use.A().WritesSet(word.Bits(32, 7)).Done();
    case Operation::kVote:
      return use.Reads(87).Writes(81).Target().Done(Kind::kTaking);
    case Operation::kVoteu:
      return use.Reads(87).WritesUniform(81).UniformTarget16().Done(Kind::kTaking);
    case Operation::kElect:
      return use.Reads(87).Writes(81).UniformTarget16().Done(Kind::kTaking);
    case Operation::kMatch:
      if (!word.Bit(79)) use.Writes(81);
      return use.Register(24, word.Bit(73) ? 2 : 1).Target().Done(Kind::kTaking);
    case Operation::kS2r:
      return use.Target().Done();
    case Operation::kCs2r:
      return use.Target(word.Bit(80) ? 2 : 1).Done();
    case Operation::kS2ur:
      return use.UniformTarget().Done();
    case Operation::kR2ur:
      return use.Register(24).Writes(81).UniformTarget16().Done(Kind::kTaking);
    case Operation::kRedux:
      return use.Register(24).UniformTarget16().Done(Kind::kTaking);
    default:
      return {};
  }
}

Effect UniformEffect(const Step& step) {
  EffectWriter use(step);
  const bool extends = step.word.Bit(kExtendsBit);
  switch (step.operation) {
    case Operation::kUiadd3:
      if (extends) use.ReadsUniform(87).ReadsUniform(77);
      return use.A().B().C().WritesUniform(81).WritesUniform(84).UniformTarget().Done();
    case Operation::kUimad:
      if (extends) use.ReadsUniform(87);
      return use.A().B().C().UniformTarget().Done();
    case Operation::kUimadWide:
      if (extends) use.ReadsUniform(87);
      return use.A().B().C(2).WritesUniform(81).UniformTarget(2).Done();
    case Operation::kUlea:
      if (extends) use.ReadsUniform(87);
      return use.A().B().C().WritesUniform(81).UniformTarget().Done();
    case Operation::kUlop3:
      return use.A().B().C().ReadsUniform(87).WritesUniform(81).UniformTarget().Done();
    case Operation::kUplop3:
      use.ReadsUniform(87).ReadsUniform(77).ReadsUniform(68);
      return use.WritesUniform(81).WritesUniform(84).Done();
    case Operation::kUisetp:
      if (step.word.Bit(72)) use.ReadsUniform(68);
      return use.A().B().ReadsUniform(87).WritesUniform(81).WritesUniform(84).Done();
    case Operation::kUsel:
      return use.A().B().ReadsUniform(87).UniformTarget().Done();
    case Operation::kUmov:
    case Operation::kUpopc:
    case Operation::kUbrev:
      return use.B().UniformTarget().Done();
    case Operation::kUshf:
    case Operation::kUprmt:
      return use.A().B().C().UniformTarget().Done();
    case Operation::kUbmsk:
      return use.A().B().UniformTarget().Done();
    case Operation::kUflo:
      return use.B().WritesUniform(81).UniformTarget().Done();
    case Operation::kUp2ur:
      return use.A().ReadsSet(step.word.Bits(32, 7), true).UniformTarget().Done();
    default:
      return {};
  }
}

// Registers of A, B and C that each lane of a matrix product holds (matrix_handlers.cc).
Effect MatrixEffect(const Step& step) {
  EffectWriter use(step);
  const Word& word = step.word;
  constexpr std::uint64_t kTf32 = 2;
  constexpr std::array<unsigned, 3> kDepths = {8, 16, 4};
  const unsigned depth = kDepths[word.Bits(75, 1) | word.Bits(78, 1) << 1];
  const unsigned span = word.Bits(82, 2) == kTf32 ? 4 : 8;
  const unsigned parts = (depth + span - 1) / span;
  const unsigned sums = word.Bit(76) ? 4 : 2;
  return use.Register(24, 2 * parts)
      .Register(32, parts)
      .Register(64, sums)
      .Target(sums)
      .Done(Kind::kAll);
}

// Words that the size field of a load stands for.
unsigned LoadedWords(const Word& word) {
  const auto size = word.Bits(73, 3);
  return size == 5 ? 2 : size == 6 ? 4 : 1;
}

// Words that an atomic gives.
unsigned WordsOfCell(const Step& step) {
  constexpr std::uint64_t kDoubleCells = 15;
  if (step.operation == Operation::kAtomFloat) {
    return step.word.Bits(73, 4) == kDoubleCells ? 2 : 1;
  }
  return step.word.Bits(73, 3) >= 2 ? 2 : 1;
}

Effect MemoryEffect(const Step& step) {
  EffectWriter use(step);
  const Word& word = step.word;
  switch (step.operation) {
    case Operation::kLdc:
      return use.Register(24).Target(LoadedWords(word)).Done(Kind::kOwn);
    case Operation::kUldc: {
      const sass::UniformLoad place = sass::UniformLoadOf(word, step.dialect);
      Effect effect = use.UniformTarget(LoadedWords(word)).Done(Kind::kOwn);
      if (place.index != sass::kZeroUniform) {
        effect.uniforms_read.Add(static_cast<std::uint16_t>(place.index));
      }
      return effect;
    }
    case Operation::kLdg:
    case Operation::kLd:
    case Operation::kLds:
    case Operation::kLdl:
      return use.Target(LoadedWords(word)).Done(Kind::kOwn);
    case Operation::kLdgWide:
      return use.Target(4).TargetRows(TargetRow(word.Bits(64, 8)), 4).Done(Kind::kOwn);
    case Operation::kLdsm:
      return use.Target(1u << word.Bits(72, 2)).Done(Kind::kOwn);
    case Operation::kQspc:
      return use.Register(24, 2).Writes(81).Done();
    case Operation::kShfl:
      return use.Target().Writes(81).Done(Kind::kOwn);
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kAtomFloat:
      return use.Writes(81).Target(WordsOfCell(step)).Done(Kind::kOwn);
    case Operation::kAtomsCas:
      // One form of CAST says by a predicate whether it exchanged.
      if (word.Bit(87) && sass::FormOf(word) == 2) return use.Writes(81).Done(Kind::kOwn);
      return use.Target(WordsOfCell(step)).Done(Kind::kOwn);
    case Operation::kAtoms:
      return use.Target(WordsOfCell(step)).Done(Kind::kOwn);
    case Operation::kStg:
    case Operation::kStgWide:
    case Operation::kSt:
    case Operation::kSts:
    case Operation::kStl:
    case Operation::kLdgsts:
    case Operation::kStsm:
    case Operation::kAtomsPopcInc:
    case Operation::kRed:
    case Operation::kRedFloat:
      return use.Done(Kind::kOwn);
    default:
      return {};
  }
}

}  // namespace

Effect EffectOf(const Step& step) {
  if (IsPassedOver(step)) return {};
  if (step.operation == Operation::kHmma) return MatrixEffect(step);
  for (const auto find : {FloatEffect, HalfEffect, ConvertEffect, IntegerEffect, BitEffect,
                          PredicateEffect, UniformEffect, MemoryEffect}) {
    const Effect effect = find(step);
    if (effect.kind != Kind::kNone) return effect;
  }
  return {};
}

}  // namespace eidolon::interpret
