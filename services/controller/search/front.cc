// Every pair of candidates is compared, which the bounded number of points of a search allows:
// 10,000 points with three objectives take about a second.
#include "services/controller/search/front.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/controller/search/goal.h"
#include "services/controller/search/range.h"
#include "services/controller/search/report_field.h"
#include "services/controller/search/verdict.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;

// Values of a row by one objective; the more the better.
struct Merit {
  double value = 0;
  double best = 0;
  double worst = 0;
};

struct Candidate {
  json* row = nullptr;
  std::vector<Merit> merits;
};

std::vector<Merit> MeritsOf(const SearchSpec& spec, const json& row) {
  std::vector<Merit> merits;
  for (const Goal& goal : spec.goals) {
    const double sign = goal.maximize ? 1 : -1;
    merits.push_back({.value = sign * RangeOf(row, *FindReportField(goal.field)).value,
                      .best = sign * BestCaseOf(row, goal),
                      .worst = sign * WorstCaseOf(row, goal)});
  }
  return merits;
}

bool HasAll(const SearchSpec& spec, const json& row) {
  return std::ranges::all_of(spec.goals,
                             [&](const Goal& goal) { return row.contains(goal.field); });
}

bool Dominates(const Candidate& one, const Candidate& other) {
  bool is_better = false;
  for (std::size_t i = 0; i < one.merits.size(); ++i) {
    if (one.merits[i].value < other.merits[i].value) return false;
    is_better = is_better || one.merits[i].worst > other.merits[i].best;
  }
  return is_better;
}

}  // namespace

void MarkFront(const SearchSpec& spec, std::vector<json>* rows) {
  if (spec.goals.empty()) return;
  std::vector<Candidate> candidates;
  for (json& row : *rows) {
    row["front"] = false;
    if (IsChoosable(row) && HasAll(spec, row)) candidates.push_back({&row, MeritsOf(spec, row)});
  }
  for (const Candidate& candidate : candidates) {
    const auto found = std::ranges::find_if(
        candidates, [&](const Candidate& other) { return Dominates(other, candidate); });
    if (found == candidates.end()) {
      (*candidate.row)["front"] = true;
    } else {
      (*candidate.row)["dominatedBy"] = (*found->row)["name"];
    }
  }
}

std::vector<std::string> FrontOf(const std::vector<json>& rows) {
  std::vector<std::string> names;
  for (const json& row : rows) {
    if (row.value("front", false)) names.push_back(shown::TextAt(row, {"name"}));
  }
  return names;
}

}  // namespace eidolon::controller::search
