// Describes a piece of device code, whether it came as machine code or as PTX: functions with their
// parameters and resources, and variables. This is all that launching, attributes and occupancy
// need.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/target.h"

namespace eidolon::cubin {

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  auto operator<=>(const Parameter&) const = default;
};

// Most bytes of shared or constant memory that code may state.
inline constexpr std::uint64_t kLargestMemory = 0xffffffff;

// Zero stands for "not stated" throughout.
struct Function {
  std::string_view name;              // Mangled.
  std::vector<Parameter> parameters;  // In the order of the source.
  std::uint32_t parameter_bytes = 0;  // Of the whole block, inner padding included.
  std::uint32_t parameter_base = 0;   // Where the block lies in constant bank 0.
  std::uint32_t registers = 0;        // Per thread.
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;  // Stack and spills, per thread.
  std::uint32_t barriers = 0;
  std::array<std::uint32_t, 3> block_max = {};       // __launch_bounds__, .maxntid.
  std::array<std::uint32_t, 3> block_required = {};  // .reqntid.
  std::array<std::uint32_t, 3> cluster = {};         // __cluster_dims__.
  std::uint32_t cluster_blocks_max = 0;
};

struct Variable {
  std::string_view name;
  std::uint64_t bytes = 0;
  bool constant = false;
};

// The views point into the parsed bytes.
struct Code {
  Target target;
  bool is_ptx = false;
  std::uint32_t constant_bytes = 0;  // __constant__ variables in all.
  std::vector<Function> functions;
  std::vector<Variable> variables;
};

}  // namespace eidolon::cubin
