// Finds the part of a point's job that decides the behaviour of its program: one run is enough for
// all points of a search with the same part. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/search/search.h"

namespace eidolon::controller::search {

// The part of a job's spec that a recording does not answer for, with the sizes and the processor
// that it resolves to. A recording of one job answers for every job of the same part. Empty for a
// spec that describes no job.
std::string RunPartOf(const nlohmann::json& spec);

// The cluster of a job's spec, without what changes how long things take and nothing else: jobs of
// one run part with the same one find the same room in their GPUs. Empty as above.
std::string MemoryPartOf(const nlohmann::json& spec);

// Returns whether the search has a parameter of several values that is filled into fields which a
// recording answers for, and into no other.
bool HasReplayedParameter(const SearchSpec& spec);

}  // namespace eidolon::controller::search
