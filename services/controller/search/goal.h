// Defines one objective over a field of the report, and the value of a row by it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::controller::search {

// A large or a small value of a field.
struct Goal {
  bool maximize = true;
  std::string field;  // One of report_field.h.
};

// The value at the better end of the row's band, and at the worse one.
double BestCaseOf(const nlohmann::json& row, const Goal& goal);
double WorstCaseOf(const nlohmann::json& row, const Goal& goal);

}  // namespace eidolon::controller::search
