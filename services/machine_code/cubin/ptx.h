// Reading PTX text as far as launching needs it: entries with parameters and launch bounds,
// variables. Registers and stack are not in the text: the driver decides them when it compiles;
// they stay zero.
#pragma once

#include <string_view>

#include "services/base/error.h"
#include "services/machine_code/cubin/code.h"

namespace eidolon::cubin {

// Instructions are skipped, not checked.
base::Result<Code> ParsePtx(std::string_view text);

}  // namespace eidolon::cubin
