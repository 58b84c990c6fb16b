// A launch that goes on where it reads unknown bytes (Launch) keeps here which registers,
// predicates and bytes of a block do not hold what they hold on a GPU. Such a register has some
// value here, which depends on nothing but what the memory gave for unknown bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// A bit for each lane. Those of uniform registers and predicates are all alike.
struct WarpUnknowns {
  std::array<std::uint32_t, kRegisterRows> rows{};
  std::array<std::uint32_t, 9> predicate{};
  std::array<std::uint32_t, 9> uniform_predicate{};
  std::array<std::uint32_t, kUniformRegisters> uniform{};
};

// Global memory keeps its own marks (Page::known).
struct BlockUnknowns {
  std::vector<WarpUnknowns> warps;
  // A byte for each: 1 when it is unknown.
  std::vector<std::uint8_t> shared;
  std::vector<std::uint8_t> local;
};

}  // namespace eidolon::interpret
