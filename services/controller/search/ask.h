// Reads the points that another program proposes for a search, and the results that it brings for
// them, and answers with one document for each. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "services/base/error.h"
#include "services/controller/search/points.h"
#include "services/controller/search/spec.h"

namespace eidolon::controller::search {

// Verdicts of answers that no row of a table has.
inline constexpr char kPredicted[] = "predicted";  // The point has a value of the objective.
inline constexpr char kCut[] = "cut";              // A constraint does not hold.
inline constexpr char kRefused[] = "refused";      // The question is wrong.
inline constexpr char kNotTried[] = "not tried";   // The budget is spent.

// The parameters with their values, the constraints and the objective, from which a tuner makes its
// own space.
nlohmann::json DescribeSearch(const SearchSpec& spec);

// "tp=4" for each parameter, as an object. A value is known by its text.
base::Result<nlohmann::json> PointOfWords(const SearchSpec& spec,
                                          std::span<const std::string> words);
// The point of an object of values by parameter; one with a single value may be left out. The error
// says what is wrong with the object. A cut point is not an error.
base::Result<MadePoint> FindPoint(const SearchSpec& spec, const nlohmann::json& given);

// The row of a point whose result comes from somewhere else: {"iterationSeconds": 1.7, ...}, or
// {"outOfMemory": true}, or {"failed": "why"}. What a report derives from these is derived.
// Requires: the point is a job.
base::Result<nlohmann::json> ToldRowOf(const SearchSpec& spec, const Point& point,
                                       const nlohmann::json& result);

// {"name", "point", "verdict", "why"}, and of what was predicted "objective", the field's value
// with its band, and "row". The verdict is as in a table with this row alone.
nlohmann::json AnswerOf(const SearchSpec& spec, nlohmann::json row);
// The same of a point that has no row. Verdicts are of those above.
nlohmann::json AnswerWithout(const Point& point, const char* verdict, const std::string& why);
nlohmann::json CutAnswerOf(const SearchSpec& spec, const MadePoint& made);
nlohmann::json RefusedAnswerOf(const std::string& why);

}  // namespace eidolon::controller::search
