// Formats a sweep's results for people: a table, a file of values, a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace eidolon::cli {

// `rows` as services/controller/sweep/rows.h makes them, the fastest first.
std::string SweepTable(const std::vector<nlohmann::json>& rows);
// A sweep's document: where it stands, and the table of its points.
std::string FormatSweep(const nlohmann::json& sweep);
// A line for each of a list of sweeps.
std::string FormatSweeps(const nlohmann::json& sweeps);
// A line for each row, of its point's values, then of its texts and of its numbers; what a row
// lacks is empty.
struct CsvColumns {
  std::vector<const char*> texts;
  std::vector<const char*> numbers;
};
std::string RowsCsv(const std::vector<nlohmann::json>& rows, const CsvColumns& columns);
std::string SweepCsv(const std::vector<nlohmann::json>& rows);
// A point for each row: throughput against cost, or head-room.
std::string SweepSvg(const std::vector<nlohmann::json>& rows);

}  // namespace eidolon::cli
