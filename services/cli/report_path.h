// The critical path in reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::cli {

// Whole lines of the text report; empty where the prediction has no critical path.
std::string FormatCriticalPath(const nlohmann::json& prediction);

// "iteration 4, from its last rank's start to its last rank's end; 812 parts on 2 of 8 ranks": what
// the figures are of, and what is missing in them.
std::string DescribeCriticalPath(const nlohmann::json& path);

}  // namespace eidolon::cli
