// The twelve bits of an opcode lead straight into a table of 4,096 rows, one table for each
// dialect: rows that all share, then what a dialect replaces or removes (Operation::kNone). A row
// describes an operation only as far as its meaning is known. A word with a field that selects
// something else must be unknown, not misread, which is what IsDescribed checks; a new variant
// needs its row before its check goes.
#include "services/machine_code/sass/form.h"

#include <array>
#include <span>

#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

constexpr std::size_t kOpcodes = 4096;
using Index = std::array<const Form*, kOpcodes>;

void Put(std::span<const Form> forms, Index& index) {
  for (const Form& form : forms) {
    for (std::size_t i = 0; i < 8; ++i) {
      if ((form.forms >> i & 1) == 0) continue;
      index[form.base | i << 9] = form.operation == Operation::kNone ? nullptr : &form;
    }
  }
}

std::array<Index, kDialects> MakeIndices() {
  Index common{};
  for (const std::span<const Form> forms :
       {FloatForms(), IntegerForms(), UniformForms(), MemoryForms(), ControlForms()}) {
    Put(forms, common);
  }
  std::array<Index, kDialects> indices{};
  indices.fill(common);
  Put(Forms80(), indices[static_cast<std::size_t>(Dialect::k80)]);
  Put(Forms100(), indices[static_cast<std::size_t>(Dialect::k100)]);
  return indices;
}

// Packed single precision whose operands are all pairs, pairs the other way round, or one number
// for both halves. What ".NP" stands for is not known, nor what the fields of saturation and FMZ
// do.
bool IsPackedDescribed(const Word& word, Operation operation) {
  const auto is_known = [&](unsigned at) { return word.Bits(at, 2) != 3; };
  if (word.Bits(76, 2) != 0 || !is_known(81) || word.Bit(83)) return false;
  const bool first = operation == Operation::kFadd2 || (is_known(87) && !word.Bit(89));
  const bool second = operation == Operation::kFmul2 || (is_known(84) && !word.Bit(86));
  return first && second;
}

// Fields of 10.x that select something which no row describes.
bool IsDescribedFor100(const Word& word, Operation operation) {
  switch (operation) {
    case Operation::kIdp:  // Products of pairs.
      return word.Bits(75, 2) == 0;
    case Operation::kI2fp:  // Other roundings than to nearest and to zero.
      return word.Bits(78, 2) == 0 || word.Bits(78, 2) == 3;
    case Operation::kFadd2:
    case Operation::kFmul2:
    case Operation::kFfma2:
      return IsPackedDescribed(word, operation);
    case Operation::kLd:  // Addresses of one register, whose fields lie elsewhere.
    case Operation::kSt:
      return word.Bit(91);
    case Operation::kQspc:  // Uniform parts of addresses.
      return !word.Bit(91);
    default:
      return true;
  }
}

// The same of 8.x.
bool IsDescribedFor80(const Word& word, Operation operation) {
  // Other amounts of prefetching, and addresses of one register.
  return operation != Operation::kLdgsts || word.Bits(70, 2) == 1;
}

// Fields that select something which no row describes.
bool IsDescribed(const Word& word, Operation operation, Dialect dialect) {
  if (dialect == Dialect::k80 && !IsDescribedFor80(word, operation)) return false;
  if (dialect == Dialect::k100 && !IsDescribedFor100(word, operation)) return false;
  switch (operation) {
    case Operation::kHmma:  // Sparse operands.
      return !word.Bit(73);
    case Operation::kI2f:  // A half of a register that has only two.
      return word.Bits(84, 2) != 1 || word.Bits(60, 2) < 2;
    case Operation::kF2fp:  // Formats narrower than 16 bits.
      return word.Bits(86, 2) == 0 && word.Bits(81, 5) == 0;
    case Operation::kBra:
      return FormOf(word) != 2 || (word.Bits(85, 2) == 0 && word.Bits(32, 2) == 1);
    case Operation::kLdgWide:  // All eight words, and one way of keeping them in the cache.
      return word.Bits(57, 7) == 0x7f && word.Bit(72) && word.Bits(81, 2) == 1 &&
             word.Bits(87, 4) == 0 && word.Bit(75);
    case Operation::kStgWide:
      return word.Bits(59, 5) == 0x1f && word.Bits(88, 3) == 7 && word.Bits(81, 2) == 1 &&
             word.Bit(75);
    case Operation::kLepc:  // Far targets.
      return word.Bits(32, 50) == 0;
    default:
      return true;
  }
}

}  // namespace

const Form* FindForm(const Word& word, Dialect dialect) {
  static const std::array<Index, kDialects> indices = MakeIndices();
  const Form* form = indices[static_cast<std::size_t>(dialect)][word.opcode()];
  return form != nullptr && IsDescribed(word, form->operation, dialect) ? form : nullptr;
}

bool HasDescriptor(const Word& word, Operation operation, Dialect dialect) {
  const bool newer = dialect == Dialect::k100;
  switch (operation) {
    case Operation::kAtom:
      return word.Bit(newer ? 76 : 71);
    case Operation::kAtomFloat:
      return word.Bit(newer ? 90 : 71);
    case Operation::kRed:
    case Operation::kRedFloat:
      return word.Bit(newer ? 81 : 71);
    default:
      return word.Bit(76);
  }
}

bool IsNarrow(const Word& word, Operation operation, Dialect dialect) {
  switch (operation) {
    case Operation::kLdgWide:
    case Operation::kStgWide:
      return false;
    case Operation::kLdg:
    case Operation::kLd:
    case Operation::kStg:
    case Operation::kSt: {
      const bool based = word.Bit(91) && !HasDescriptor(word, operation, dialect);
      return !word.Bit(72) || (based && word.Bit(90));
    }
    default:
      return !word.Bit(72);
  }
}

UniformLoad UniformLoadOf(const Word& word, Dialect dialect) {
  constexpr std::uint32_t kIndexed = 0x0bb;
  if (dialect == Dialect::k100) {
    return {UniformAt(word, 24, dialect), static_cast<std::uint32_t>(word.Signed(37, 17))};
  }
  const bool indexed = (word.opcode() & kBaseMask) == kIndexed;
  return {indexed ? UniformAt(word, 24, dialect) : kZeroUniform,
          static_cast<std::uint32_t>(word.Bits(38, 16))};
}

std::int64_t OffsetOf(const Word& word, Operation operation, Dialect dialect) {
  if (operation == Operation::kLdgWide) return word.Signed(40, 17) * 32;
  if (operation == Operation::kStgWide) return word.Signed(40, 19) * 32;
  const bool atomic = operation == Operation::kAtom || operation == Operation::kAtomFloat;
  return word.Signed(40, atomic && dialect == Dialect::k100 ? 23 : 24);
}

SlotPlace PlaceOf(const Word& word, Slot slot) {
  static constexpr std::array<SlotKind, 8> kAt32 = {
      SlotKind::kRegister,  SlotKind::kRegister, SlotKind::kImmediate, SlotKind::kConstant,
      SlotKind::kImmediate, SlotKind::kConstant, SlotKind::kUniform,   SlotKind::kUniform};
  static constexpr std::array<bool, 8> kSwapped = {false, false, true,  true,
                                                   false, false, false, true};
  const std::uint32_t form = FormOf(word);
  const bool at_32 = slot == Slot::kAt32 || (slot == Slot::kC) == kSwapped[form];
  return at_32 ? SlotPlace{kAt32[form], 32} : SlotPlace{SlotKind::kRegister, 64};
}

}  // namespace eidolon::sass
