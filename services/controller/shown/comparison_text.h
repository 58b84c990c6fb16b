// A comparison of two jobs (comparison.h) as people read it, the jobs as A and B.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::controller::shown {

// Several lines: which jobs, which is faster and whether that is sure, and a table of figures,
// kernels, collectives and fields.
std::string FormatComparison(const nlohmann::json& comparison);

}  // namespace eidolon::controller::shown
