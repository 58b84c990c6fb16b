// A job's report as one file to send to a colleague: a page without script, that asks nobody for
// anything. It shows what FormatReport shows and more of it, with the style of the controller's
// page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::cli {

// The whole file. `job`: a complete document, of any version. `version`: of this program.
// `what_ifs`: answers of WhatIfsToJson, or null.
std::string FormatHtmlReport(const nlohmann::json& job, const std::string& version,
                             const nlohmann::json& what_ifs);

}  // namespace eidolon::cli
