// The attribute lists of a cubin (.nv.info sections).
//
//   entry: format u8, attribute u8, then by format: 1 nothing (u16 unused), 2 a byte,
//          3 a u16 value, 4 a u16 size and as many bytes
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"
#include "services/machine_code/cubin/code.h"

namespace eidolon::cubin {

// Fills the function's parameters, limits and barriers from .nv.info.<name>.
base::Result<void> ReadFunctionAttributes(Bytes list, Function& function);

// Entry of the file-wide list about the function of one symbol.
struct LinkedAttribute {
  std::uint32_t symbol = 0;
  std::optional<std::uint32_t> registers;
  std::optional<std::uint32_t> stack_bytes;
};

// A damaged tail is left out: the kernels' own lists decide whether the file is usable.
std::vector<LinkedAttribute> ReadLinkedAttributes(Bytes list);

// Where an indirect branch of a kernel leads, one way or another: offsets in its code.
struct IndirectBranch {
  std::uint32_t at = 0;
  std::vector<std::uint32_t> targets;
};

// Those that .nv.info.<name> lists, up to a damaged tail.
std::vector<IndirectBranch> ReadIndirectBranches(Bytes list);

}  // namespace eidolon::cubin
