// Decodes an instruction word: the row of its operation (form_row.h), and the fields that every
// reader of code asks for.
#pragma once

#include <cstdint>

#include "services/machine_code/sass/dialect.h"
#include "services/machine_code/sass/form_row.h"
#include "services/machine_code/sass/operation.h"
#include "services/machine_code/sass/word.h"

namespace eidolon::sass {

// nullptr for a word whose operation is not known.
const Form* FindForm(const Word& word, Dialect dialect);

// True when the uniform register of a global access describes memory instead of being a part of the
// address.
bool HasDescriptor(const Word& word, Operation operation, Dialect dialect);

// Returns what a load, store or atomic adds to its address.
std::int64_t OffsetOf(const Word& word, Operation operation, Dialect dialect);

// True when a global address takes one register instead of two.
bool IsNarrow(const Word& word, Operation operation, Dialect dialect);

// The place that ULDC or LDCU loads from: an offset behind what the index register holds.
struct UniformLoad {
  std::uint32_t index = kZeroUniform;
  std::uint32_t offset = 0;
};
UniformLoad UniformLoadOf(const Word& word, Dialect dialect);

// Contents of slot B, C, or the one at bit 32 (whichever that is).
enum class SlotKind : std::uint8_t { kRegister, kImmediate, kConstant, kUniform };
enum class Slot : std::uint8_t { kB, kC, kAt32 };
struct SlotPlace {
  SlotKind kind = SlotKind::kRegister;
  std::uint8_t at = 32;  // First bit: 32 or 64.
};
SlotPlace PlaceOf(const Word& word, Slot slot);

inline std::uint32_t FormOf(const Word& word) { return (word.opcode() >> 9) & 7; }

// A constant operand's place, from the bits at 40.
inline std::uint32_t ConstantOffset(const Word& word) {
  return static_cast<std::uint32_t>(word.Bits(40, 14)) * 4;
}
inline std::uint32_t ConstantBank(const Word& word) {
  return static_cast<std::uint32_t>(word.Bits(54, 5));
}

}  // namespace eidolon::sass
