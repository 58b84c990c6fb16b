// The schema of a search, for `eidolon explain`.
#pragma once

#include <string_view>

namespace eidolon::controller::search {

// search_schema.json, an OpenAPI document with the schema SimulationSearch.
std::string_view SearchSchema();

}  // namespace eidolon::controller::search
