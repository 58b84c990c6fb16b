// Pods that the kernel killed for lack of host memory, as their status tells.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace eidolon::controller::reconcile {

// A sentence that names the limit and what sets it; empty: the agent of this pod was not killed so.
std::string DescribeMemoryKill(const nlohmann::json& pod);

}  // namespace eidolon::controller::reconcile
