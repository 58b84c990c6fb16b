// The range in which a field of a row lies, by the band of the predicted time.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "services/controller/search/report_field.h"

namespace eidolon::controller::search {

// `low` and `high` are numbers, not merits: which of them is the better case depends on the
// objective. Without a band both are the value.
struct Range {
  double value = 0;
  double low = 0;
  double high = 0;
};

Range RangeOf(const nlohmann::json& row, const ReportField& field);

}  // namespace eidolon::controller::search
