// Classifies operations, as far as it matters for following addresses through a kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

inline bool WritesGlobal(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kStg:
    case sass::Operation::kStgWide:
    case sass::Operation::kSt:
    case sass::Operation::kAtom:
    case sass::Operation::kAtomCas:
    case sass::Operation::kAtomFloat:
    case sass::Operation::kRed:
    case sass::Operation::kRedFloat:
      return true;
    default:
      return false;
  }
}

// What a generic load reads may be shared or local memory as well.
inline bool ReadsGlobal(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kLdg:
    case sass::Operation::kLdgWide:
    case sass::Operation::kLd:
    case sass::Operation::kLdgsts:
    case sass::Operation::kAtom:
    case sass::Operation::kAtomCas:
    case sass::Operation::kAtomFloat:
    case sass::Operation::kRed:
    case sass::Operation::kRedFloat:
      return true;
    default:
      return false;
  }
}

inline bool Adds(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kIadd3:
    case sass::Operation::kImad:
    case sass::Operation::kImadWide:
    case sass::Operation::kLea:
    case sass::Operation::kViadd:
    case sass::Operation::kUiadd3:
    case sass::Operation::kUiadd3Wide:
    case sass::Operation::kUlea:
    case sass::Operation::kUimad:
    case sass::Operation::kUimadWide:
      return true;
    default:
      return false;
  }
}

inline bool Moves(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kMov:
    case sass::Operation::kUmov:
    case sass::Operation::kSel:
    case sass::Operation::kUsel:
    case sass::Operation::kR2ur:
    case sass::Operation::kShfl:
      return true;
    default:
      return false;
  }
}

inline bool Multiplies(sass::Operation operation) {
  return operation == sass::Operation::kImad || operation == sass::Operation::kImadWide ||
         operation == sass::Operation::kUimad || operation == sass::Operation::kUimadWide;
}

inline bool Shifts(const Step& step) {
  const bool lea =
      step.operation == sass::Operation::kLea || step.operation == sass::Operation::kUlea;
  return lea && (step.word.Bits(75, 5) != 0 || step.word.Bit(80));
}

// Its result depends on which lanes take part.
inline bool Crosses(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kVote:
    case sass::Operation::kVoteu:
    case sass::Operation::kMatch:
    case sass::Operation::kShfl:
    case sass::Operation::kRedux:
    case sass::Operation::kElect:
    case sass::Operation::kB2r:
    case sass::Operation::kR2ur:
      return true;
    default:
      return false;
  }
}

// What HFMA2 gives where compilers load a constant by it: they add it to the product of zeros.
inline std::optional<std::uint32_t> ConstantOfHalves(const Step& step) {
  const auto is_zero = [](const Operand& operand) {
    return operand.kind == Operand::Kind::kRow && operand.row == kZeroRow;
  };
  if (step.c.kind != Operand::Kind::kFixed || !is_zero(step.a) || !is_zero(step.b)) return {};
  const bool bfloat = step.word.Bit(85);
  const std::uint32_t exponents = bfloat ? 0x7f80u : 0x7c00u;
  const std::uint32_t bits = step.c.immediate;
  const auto is_plain = [&](std::uint32_t half) {
    return (half & exponents) != exponents && (half & 0xffffu) != 0x8000u;
  };
  const bool plain =
      !step.word.Bit(77) && !step.word.Bit(79) && is_plain(bits) && is_plain(bits >> 16);
  return plain ? std::optional(bits) : std::nullopt;
}

// A branch or an exit that its operands alone decide: branches for diverged lanes look at who is
// there.
inline bool IsPlainWay(const Step& step) {
  if (step.operation == sass::Operation::kExit || step.operation == sass::Operation::kBrx ||
      step.operation == sass::Operation::kBrxu) {
    return step.word.Bits(87, 4) == sass::kTruePredicate;
  }
  return step.operation == sass::Operation::kBra &&
         (sass::FormOf(step.word) == 2 || step.word.Bits(32, 2) < 2);
}

// Its result may be another one in another thread, warp or block though its operands are the same.
inline bool TellsThreadsApart(sass::Operation operation) {
  switch (operation) {
    case sass::Operation::kS2r:
    case sass::Operation::kS2ur:
    case sass::Operation::kCs2r:
    case sass::Operation::kAtoms:
    case sass::Operation::kAtomsCas:
    case sass::Operation::kAtomsPopcInc:
    case sass::Operation::kBmovToRegister:
      return true;
    default:
      return operation != sass::Operation::kR2ur && Crosses(operation);
  }
}

}  // namespace eidolon::interpret
