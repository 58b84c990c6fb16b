// The Kubernetes objects that stand for a job and for a fabric.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/job/resolve.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {

// Indexed Job and headless Service of a SimulationJob, for one attempt.
std::vector<nlohmann::json> JobObjects(const nlohmann::json& simulation_job,
                                       const job::ResolvedJob& resolved, std::uint32_t attempt,
                                       const Settings& settings);

// Deployment and Service of the network service that belongs to `owner` (a SimulatedCluster, or a
// SimulationJob with a cluster of its own).
std::vector<nlohmann::json> NetworkObjects(const nlohmann::json& owner, const Settings& settings);

// Name of both, and where agents find the service.
std::string NetworkNameOf(const std::string& owner_kind, const std::string& owner_name);
std::string NetworkAddress(const std::string& network_name, const std::string& name_space);

}  // namespace eidolon::controller::reconcile
