// Reads a SimulationSearch document: which values of some parameters of a job are best. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "services/controller/job/metadata.h"
#include "services/controller/job/problem.h"
#include "services/controller/search/spec.h"

namespace eidolon::controller::search {

inline constexpr std::string_view kSearchKind = "SimulationSearch";

struct ParsedSearch {
  job::Metadata metadata;
  SearchSpec spec;
  job::Problems problems;  // Empty: the document is acceptable by itself.
};

// Never fails otherwise than by `problems`, whatever the tree holds.
ParsedSearch ParseSearch(const nlohmann::json& document);

}  // namespace eidolon::controller::search
