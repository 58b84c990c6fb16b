#include "services/controller/search/range.h"

#include <nlohmann/json.hpp>

#include "services/controller/shown/document_fields.h"

namespace eidolon::controller::search {

using shown::NumberAt;

Range RangeOf(const nlohmann::json& row, const ReportField& field) {
  const double value = NumberAt(row, {field.name.data()});
  const double seconds = NumberAt(row, {"iterationSeconds"});
  const double low = NumberAt(row, {"iterationSecondsLow"});
  const double high = NumberAt(row, {"iterationSecondsHigh"});
  const bool has_band = field.band != ReportField::Band::kNone && low > 0 && high > 0;
  if (!has_band) return {value, value, value};
  if (field.band == ReportField::Band::kTime) {
    return {value, value * low / seconds, value * high / seconds};
  }
  return {value, value * seconds / high, value * seconds / low};
}

}  // namespace eidolon::controller::search
