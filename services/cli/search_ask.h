// The dialogue of `eidolon search ask` and `tell` with another program: one line of JSON for each
// point, and one line for each answer.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

namespace eidolon::cli {

// Exit status when an answer has no value, or a result was not taken.
constexpr int kNoValue = 3;

// The rows of a search's points, which a journal keeps.
class PointRows {
 public:
  virtual ~PointRows() = default;
  // From the journal, else by running the point; null when the budget is spent. The error ends the
  // dialogue: it is none of the point's.
  virtual base::Result<nlohmann::json> RowFor(const controller::search::Point& point) = 0;
  // Returns once the row is on the disk.
  virtual base::Result<void> Keep(const nlohmann::json& row) = 0;
};

struct AskFlags {
  std::vector<std::string> point;  // "tp=4".
  bool lines = false;              // Points come from standard input instead.
  std::string result;              // Of `tell`: JSON.
};

// Answers the questions that the flags or the lines of `in` make, each before the next is read.
// Returns the exit status. Requires: `rows` is of `spec`.
base::Result<int> AnswerPoints(const controller::search::SearchSpec& spec, const AskFlags& flags,
                               std::istream& in, std::ostream& out, PointRows* rows);
// The same of results. A line is {"point": {...}, ...}, with the fields of the result.
base::Result<int> TakeResults(const controller::search::SearchSpec& spec, const AskFlags& flags,
                              std::istream& in, std::ostream& out, PointRows* rows);

}  // namespace eidolon::cli
