// Reads what plans need of objects of the API server.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "services/controller/reconcile/pod_refusal.h"

namespace eidolon::controller::reconcile {

bool IsBeingDeleted(const nlohmann::json& object);

// Seconds since 1970 of "2026-11-21T09:53:36Z"; 0 when it is none.
std::int64_t ParseTime(const std::string& text);

// Accepts a Deployment that may not be there yet.
bool IsReady(const std::optional<nlohmann::json>& deployment);
// Returns why it has no pods, in the words of who refused them; empty when nobody did.
std::string RefusalOf(const std::optional<nlohmann::json>& deployment);
// Beginning of the condition Ready of a SimulatedCluster whose network service is not admitted.
inline constexpr char kNotLetIn[] = "the network service is not let in: ";
// Returns what admission has against the network service that a job needs: against its pods,
// against the objects of the job's `cluster` (told by its condition), or against those that were
// just applied (`refused`: the API server's words).
PodRefusal RefusalOfNetwork(const std::optional<nlohmann::json>& deployment,
                            const std::optional<nlohmann::json>& cluster,
                            const std::string& refused);

// Returns whether a batch Job is complete or has failed.
bool HasEnded(const nlohmann::json& batch);

}  // namespace eidolon::controller::reconcile
