#include "services/sass/form.h"

#include <array>
#include <span>

#include "services/sass/forms.h"

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
  return indices;
}

// Fields that select something which no row describes.
bool IsDescribed(const Word& word, Operation operation) {
  switch (operation) {
    case Operation::kHmma:  // Sparse operands.
      return !word.Bit(73);
    case Operation::kF2fp:  // Formats narrower than 16 bits.
      return word.Bits(86, 2) == 0 && word.Bits(81, 5) == 0;
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
  return form != nullptr && IsDescribed(word, form->operation) ? form : nullptr;
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
