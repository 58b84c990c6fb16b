// A row of the tables of operations: what an instruction word means, with a description of its
// fields that is enough to print it as the vendor's disassembler does. The rows were derived by
// asking that disassembler: those of 9.0, and those in which other dialects differ from it.
//
// Operands of arithmetic sit in three slots. Bits 9 to 11 of the opcode, the form, say what the
// slots hold; base is the opcode without them:
//
//   form   bits 32..63 are       bits 64..71 are
//   1      B, a register         C, a register
//   2      C, an immediate       B, a register
//   3      C, a constant         B, a register
//   4      B, an immediate       C, a register
//   5      B, a constant         C, a register
//   6      B, a uniform register C, a register
//   7      C, a uniform register B, a register
#pragma once

#include <cstdint>
#include <string_view>

#include "services/machine_code/sass/operation.h"

namespace eidolon::sass {

struct Form {
  std::uint16_t base;  // Bits 0 to 8.
  std::uint8_t forms;  // Bit f: form f exists.
  Operation operation;
  bool uniform;           // Registers and predicates are the uniform ones.
  std::string_view text;  // See print.h.
};

}  // namespace eidolon::sass
