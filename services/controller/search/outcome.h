// Makes a row for each point of a search, judges the rows, and says which point is best.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/controller/search/points.h"
#include "services/controller/search/spec.h"
#include "services/controller/search/verdict.h"

namespace eidolon::controller::search {

// The row of one point. `job` is the document of its job once that is over. It is what the journal
// keeps, and depends on nothing but the point's job and the prices.
nlohmann::json RowOf(const Point& point, const nlohmann::json& job, const SearchSpec& spec);
// The row of a point whose job was ended with this status, since the point had lost.
nlohmann::json PartialRowOf(const Point& point, nlohmann::json job, const SearchSpec& spec);
// The row of a point whose job is refused before it begins.
nlohmann::json RefusedRowOf(const Point& point);

// Returns whether the row may be that of the best point: its job is over, it fits, it has the
// objective's field, and the conditions hold.
bool IsCandidate(const SearchSpec& spec, const nlohmann::json& row);

// Adds "verdict" and "why" to each row, to one that is beaten for certain "lostTo", the name of the
// point that beats it, "bestCase" and "winnersWorstCase", values of the objective; and puts the
// best first, then by the objective what fits, what is excluded, what does not fit, and what has
// failed.
void JudgeRows(const SearchSpec& spec, std::vector<nlohmann::json>* rows);

// The whole result as `eidolon search -o json` prints it.
struct Findings {
  const SearchSpec& spec;
  const Grid& grid;
  std::vector<nlohmann::json> rows;    // Judged.
  std::vector<std::string> not_tried;  // Names of points that the budget has left out.
};
nlohmann::json ToJson(const Findings& findings);
// Names the best point and the set that cannot be told apart from it, or says that there is none.
std::string SummaryOf(const Findings& findings);
// The point with the verdict "best"; null when there is none.
const Point* BestOf(const Findings& findings);

}  // namespace eidolon::controller::search
