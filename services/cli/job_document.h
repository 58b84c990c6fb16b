// A job's document, of a server or of a file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/base/error.h"
#include "services/cli/globals.h"

namespace eidolon::cli {

// Returns what `eidolon get JOB` and `run` print with `-o json` or `-o yaml`; "-" is standard
// input.
base::Result<nlohmann::json> ReadJobDocument(const std::string& path);
// Fetches the document from the controller that the flags name.
base::Result<nlohmann::json> FetchJobDocument(const Globals& globals, const std::string& name);

}  // namespace eidolon::cli
