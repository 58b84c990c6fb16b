// Formats a search's results for people and spreadsheets.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/search/outcome.h"

namespace eidolon::cli {

// The table with what was cut, the sentence that names the best point, and its command line.
std::string SearchTable(const controller::search::Findings& findings);
std::string SearchCsv(const std::vector<nlohmann::json>& rows);
// The command of a filled job for a shell, behind the variables that `written`, the job with its
// placeholders, fills in.
std::string CommandLineOf(const nlohmann::json& filled, const nlohmann::json& written);

}  // namespace eidolon::cli
