// Journal of a sweep's or search's points.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "services/base/error.h"

namespace eidolon::cli {

// Results found so far: a line for each point, written before the next one begins, so that a
// command that was killed goes on where it was. A line that was cut off counts for nothing. Used by
// one thread of one process.
class ResultsLog {
 public:
  // Reads what the file has; one that is missing is empty.
  explicit ResultsLog(std::string path);

  bool Has(const std::string& name) const { return rows_.contains(name); }
  // Requires: Has(name).
  const nlohmann::json& at(const std::string& name) const { return rows_.at(name); }
  // By name, in the order of the alphabet.
  const std::map<std::string, nlohmann::json>& rows() const { return rows_; }
  // Returns once the row is on the disk. Requires: row["name"] is a text.
  base::Result<void> Add(const nlohmann::json& row);

 private:
  std::string path_;
  std::map<std::string, nlohmann::json> rows_;  // By the point's name.
};

}  // namespace eidolon::cli
