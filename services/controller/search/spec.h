// Defines a parsed search: a job with parameters, their values, and what is best.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/controller/search/expression.h"
#include "services/controller/search/fill.h"
#include "services/controller/search/goal.h"
#include "services/controller/sweep/prices.h"

namespace eidolon::controller::search {

inline constexpr std::size_t kCombinationsMax = 10'000;

// Names that constraints have besides the parameters: what the filled job resolves to.
inline constexpr std::string_view kWorld = "world";  // Ranks.
inline constexpr std::string_view kGpusPerServer = "gpusPerServer";
inline constexpr std::string_view kServers = "servers";

struct Objective {
  bool maximize = true;
  std::string field;                   // One of report_field.h.
  std::vector<Expression> subject_to;  // Over report fields and parameters.
};

// Words that a parameter adds to the command, by the text of its value.
struct AddedWords {
  std::string parameter;
  std::map<std::string, std::vector<std::string>> by_value;
};

struct SearchSpec {
  nlohmann::json job;  // The spec of a SimulationJob, with ${NAME} for values of parameters.
  Space space;
  std::vector<Expression> constraints;  // Over parameters, facts, aliases and the names above.
  std::vector<std::pair<std::string, nlohmann::json>> facts;  // Names with one value.
  std::vector<std::pair<std::string, std::string>> aliases;   // Names with another one's value.
  std::string preset;  // Empty: none. The following is what it has brought.
  std::vector<AddedWords> words;
  std::vector<std::string> reasons;  // Of the first constraints, one each.
  std::vector<std::string> lacking;  // Names without a value, whose rules say nothing.
  Objective objective;
  std::vector<Goal> goals;  // Of a Pareto front; empty: none is asked for.
  sweep::Prices prices;
  std::size_t points_max = 0;          // Budget; 0: none.
  std::uint64_t wall_seconds_max = 0;  // The same, of points that are over.
  std::size_t parallel = 1;            // Points that run at a time.
  bool may_replay = true;              // Where a recording answers for a point.
  // Measured iterations after which a job is ended whose point has lost; 0: none is.
  std::size_t look_iterations = 0;
};

}  // namespace eidolon::controller::search
