#include "services/controller/search/goal.h"

#include <nlohmann/json.hpp>

#include "services/controller/search/range.h"
#include "services/controller/search/report_field.h"

namespace eidolon::controller::search {

using nlohmann::json;

double BestCaseOf(const nlohmann::json& row, const Goal& goal) {
  const Range range = RangeOf(row, *FindReportField(goal.field));
  return goal.maximize ? range.high : range.low;
}

double WorstCaseOf(const nlohmann::json& row, const Goal& goal) {
  const Range range = RangeOf(row, *FindReportField(goal.field));
  return goal.maximize ? range.low : range.high;
}

}  // namespace eidolon::controller::search
