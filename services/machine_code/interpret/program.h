// A kernel made ready to run: every instruction decoded, every operation known.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/sass/form.h"

namespace eidolon::interpret {

struct Warp;
struct Step;

// Executes one instruction for the lanes of the mask, which is not empty.
using Handler = void (*)(Warp& warp, const Step& step, std::uint32_t mask);

inline constexpr unsigned kLanes = machine::kWarpLanes;
using Lanes = std::array<std::uint32_t, kLanes>;

// Registers lie in rows of 32 lanes. Two rows come before register 0: one that is always zero and
// one that nobody reads.
inline constexpr unsigned kZeroRow = 0;
inline constexpr unsigned kLostRow = 1;
inline constexpr unsigned kFirstRow = 2;
// Every number an instruction can name, with room for wide operands behind the last.
inline constexpr unsigned kRegisterRows = kFirstRow + 256 + 8;
// The same for uniform registers. Number 255 is zero, and number 256 is never read.
inline constexpr unsigned kUniformRegisters = 260;

constexpr unsigned SourceRow(std::uint64_t number) {
  return number == sass::kZeroRegister ? kZeroRow : static_cast<unsigned>(number) + kFirstRow;
}
constexpr unsigned TargetRow(std::uint64_t number) {
  return number == sass::kZeroRegister ? kLostRow : static_cast<unsigned>(number) + kFirstRow;
}

struct Operand {
  enum class Kind : std::uint8_t { kRow, kFixed, kUniform, kConstant };
  Kind kind = Kind::kRow;
  bool negative = false;
  bool absolute = false;
  std::uint16_t row = kZeroRow;          // kRow.
  std::uint16_t uniform = 0;             // kUniform.
  std::uint32_t immediate = 0;           // kFixed.
  std::uint32_t bank = 0;                // kConstant.
  std::uint32_t offset = 0;              // kConstant.
  const std::uint32_t* lanes = nullptr;  // kFixed: the immediate, 32 times.
};

struct Step {
  Handler run = nullptr;
  sass::Word word;  // As CanonicalDialect encodes it (canonical.h).
  sass::Dialect dialect = sass::Dialect::k90;
  const sass::Form* form = nullptr;
  sass::Operation operation{};
  std::uint8_t guard = sass::kTruePredicate;
  bool guard_negated = false;
  bool uniform = false;  // Works on the uniform registers, once a warp.
  bool control = false;  // May change the program counter; also runs for empty masks' sake.
  std::uint16_t target = kLostRow;
  Operand a, b, c;
  // Offset of accesses to global memory.
  std::int64_t offset = 0;
  bool descriptor = false;  // sass::HasDescriptor.
  bool narrow = false;      // sass::IsNarrow.
  std::uint32_t jump = 0;   // Index of the step a branch leads to.
};

// The uniform register in a field.
inline std::uint32_t UniformIn(const Step& step, unsigned at) {
  return sass::UniformAt(step.word, at, step.dialect);
}

struct Program {
  std::string name;
  sass::Dialect dialect = sass::Dialect::k90;
  std::vector<Step> steps;
  std::deque<Lanes> immediates;  // What fixed operands point to.
  unsigned registers = 0;        // A thread's; 0: as many as there can be.
  bool uses_local = false;
  // False when warps may learn of each other by other ways than memory: barriers, the clock.
  bool warps_are_apart = true;
  unsigned convergence_barriers = 0;  // The code names those below this number.
  // Constant banks other than 0, by number, and which ones the code reads.
  std::map<std::uint32_t, std::vector<std::byte>> banks;
  std::set<std::uint32_t> banks_read;
  // Targets of indirect branches, by step, as far as the compiler names them. Every target is a
  // step.
  std::map<std::uint32_t, std::vector<std::uint32_t>> indirect_targets;
  std::uint32_t parameter_base = 0x210;
  std::uint32_t local_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
};

// Fills steps, immediates, banks_read and what follows from the code, which is in the program's
// dialect. kUnsupported names the first instruction that cannot be run; nothing has happened then.
base::Result<void> Translate(std::span<const std::byte> code, Program& program);

}  // namespace eidolon::interpret
