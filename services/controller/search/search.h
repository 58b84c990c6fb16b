// A search: which values of some parameters of a job are best. Reads a SimulationSearch document.
// Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/controller/job/metadata.h"
#include "services/controller/job/problem.h"
#include "services/controller/search/expression.h"
#include "services/controller/search/fill.h"
#include "services/controller/sweep/prices.h"

namespace eidolon::controller::search {

inline constexpr std::string_view kSearchKind = "SimulationSearch";
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

struct SearchSpec {
  nlohmann::json job;  // The spec of a SimulationJob, with ${NAME} for values of parameters.
  Space space;
  std::vector<Expression> constraints;  // Over parameters and the three names above.
  Objective objective;
  sweep::Prices prices;
  std::size_t points_max = 0;          // Budget; 0: none.
  std::uint64_t wall_seconds_max = 0;  // The same, of points that are over.
};

struct ParsedSearch {
  job::Metadata metadata;
  SearchSpec spec;
  job::Problems problems;  // Empty: the document is acceptable by itself.
};

// Never fails otherwise than by `problems`, whatever the tree holds.
ParsedSearch ParseSearch(const nlohmann::json& document);

}  // namespace eidolon::controller::search
