// The Pareto front of a search with several objectives: the points for which no other one is
// better.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/search/spec.h"

namespace eidolon::controller::search {

// Adds "front" to each row: true when no other candidate dominates it. One dominates another if it
// is as good in each objective by its value, and better in one by the bands of both: what cannot be
// told apart stays on the front. A row that is not on it has "dominatedBy", the name of the
// dominating row that comes first. Rows that are not candidates are not on it.
// Requires: `rows` are judged (outcome.h). Without objectives nothing is added.
void MarkFront(const SearchSpec& spec, std::vector<nlohmann::json>* rows);

// The names of the rows on the front.
std::vector<std::string> FrontOf(const std::vector<nlohmann::json>& rows);

}  // namespace eidolon::controller::search
