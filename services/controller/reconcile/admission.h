// Decides which jobs may start: a limited number at a time, fairly between namespaces.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {

struct QueuedJob {
  std::string key;  // Unique.
  std::string name_space;
  std::string created;  // RFC 3339: sorts by time.
  bool active = false;  // Was admitted and is not over.
};

// Returns whether a job that has no agents competes for admission: not while it waits for its
// cluster, for a service that it shares with others, or for those who do not let that in.
bool WaitsForAdmission(const nlohmann::json& job);

// The namespace with the fewest active jobs is next, there the oldest job. Active jobs stay
// admitted. Answers the admission of every job.
std::map<std::string, Admission> ComputeAdmissions(const std::vector<QueuedJob>& jobs,
                                                   std::size_t limit);

}  // namespace eidolon::controller::reconcile
