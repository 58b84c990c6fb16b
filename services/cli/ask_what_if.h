// Asks a recording what would help: a replay for each change, all on the same services.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/base/error.h"
#include "services/cli/embedded.h"

namespace eidolon::cli {

// The answers as WhatIfsToJson has them. `recording`: path of a recording. `gpu`: as of WhatIfsOf.
base::Result<nlohmann::json> AskWhatIf(const std::string& recording, const std::string& gpu,
                                       const EmbeddedOptions& embedded);

}  // namespace eidolon::cli
