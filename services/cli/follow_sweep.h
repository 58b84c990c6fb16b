// Submits a sweep to a controller and follows it until all its points are known.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/base/error.h"
#include "services/cli/client.h"
#include "services/cli/terminal.h"

namespace eidolon::cli {

// The path of a sweep's resource.
std::string SweepPath(const std::string& name_space, const std::string& name = "");
// "3 of 8 points, 2 running", of a sweep's document.
std::string FormatSweepProgress(const nlohmann::json& sweep);

// The sweep's document once it is over. One that exists already and says the same is followed.
base::Result<nlohmann::json> SubmitSweep(const Client& client, const std::string& name_space,
                                         const nlohmann::json& document, Terminal* terminal);

}  // namespace eidolon::cli
