// Reads what running a cubin's kernels needs beyond launching them (cubin.h): machine code,
// constant banks, symbols and the places that hold addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"

namespace eidolon::cubin {

struct ProgramSection {
  std::string_view name;
  Bytes content;
  bool executable = false;
  std::uint64_t bytes = 0;  // More than the content's for sections that begin as zeros.
};

struct ProgramSymbol {
  std::string_view name;
  std::uint32_t section = 0;  // 0: defined elsewhere.
  std::uint64_t value = 0;    // Offset in the section.
  std::uint64_t bytes = 0;
};

// The address of a symbol, plus `addend`, belongs at `offset` of the section.
struct Relocation {
  std::uint32_t section = 0;
  std::uint64_t offset = 0;
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

// A 64-bit address.
inline constexpr std::uint32_t kRelocation64 = 2;

// The views point into the parsed bytes. Every relocation names an existing section and symbol.
struct Program {
  std::vector<ProgramSection> sections;
  std::vector<ProgramSymbol> symbols;
  std::vector<Relocation> relocations;  // Of sections other than those of debuggers.

  std::optional<std::uint32_t> FindSection(std::string_view name) const;
};

base::Result<Program> ParseProgram(Bytes cubin);

}  // namespace eidolon::cubin
