// Finds which bytes of its parameters a kernel's code can read, whatever values they have.
#pragma once

#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

struct ParameterRead {
  std::uint32_t offset = 0;  // From the first parameter.
  std::uint32_t bytes = 0;
  bool indexed = false;  // A register is added to the offset: an element of an array there.

  bool operator==(const ParameterRead&) const = default;
};

// Each once, by offset. A read may be wider than what the instruction uses of it, never narrower.
// Requires: the program was translated whole.
std::vector<ParameterRead> ParameterReads(const Program& program);

}  // namespace eidolon::interpret
