// Explains one kernel as the plane of values knows it: its parameters, its machine code, and
// whether it can be run, else why not.
#pragma once

#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/machine_code/cubin/target.h"

namespace eidolon::cli::values {

struct ExplainOptions {
  std::string file;     // A library, fat binary or cubin.
  std::string pattern;  // A part of the mangled name; the first kernel that has it is explained.
  bool code = true;     // With the disassembly.
  cubin::Capability device{9, 0};  // Whose code is taken from fat binaries.
};

// kNotFound when the file has no such kernel for that device.
base::Result<std::string> Explain(const ExplainOptions& options);

}  // namespace eidolon::cli::values
