// A file of `eidolon sweep` as the SimulationSweep that a controller takes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::cli {

// `path`: of the file with this text. Files that it names are read, or made absolute; a sweep
// without a name is called after the file.
base::Result<nlohmann::json> MakeSweepDocument(std::string_view text, const std::string& path);
// The job that a file of a job holds, with its code directory made absolute.
base::Result<nlohmann::json> ReadSweptJob(const std::string& path);

}  // namespace eidolon::cli
