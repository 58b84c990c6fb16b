// A kernel's machine code made ready to be counted.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::timing::count {

struct KernelCode {
  interpret::Program program;
  std::uint32_t architecture = 0;  // 90 for 9.0.
  std::size_t passed_over = 0;     // Instructions that are counted, not run.
};

// The kernel `name` (mangled) of a cubin. Variables of its module read as zeros, and lie where no
// pointer of a launch leads. kUnsupported for PTX and for code of an architecture whose encoding is
// not known, kNotFound without such a kernel, kCorrupt for what is not a cubin.
base::Result<KernelCode> ReadKernelCode(cubin::Bytes cubin, std::string_view name);

}  // namespace eidolon::timing::count
