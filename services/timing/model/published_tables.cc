#include "services/timing/model/published_tables.h"

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::timing::model {

std::vector<CsvRow> CsvRows(std::string_view csv, std::size_t columns) {
  std::vector<CsvRow> rows;
  bool header = true;
  for (const std::string_view line : base::Split(csv, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    if (header) {
      header = false;
      continue;
    }
    rows.push_back(base::Split(line, ','));
    CHECK(rows.back().size() == columns);
  }
  return rows;
}

double CsvNumber(std::string_view cell) {
  const auto number = base::ParseNumber(cell);
  CHECK(number.has_value());
  return *number;
}

}  // namespace eidolon::timing::model
