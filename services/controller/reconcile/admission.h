// Which jobs may start: a limited number at a time, fairly between namespaces.
#pragma once

#include <cstddef>
#include <map>
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

// The namespace with the fewest active jobs is next, there the oldest job. Active jobs stay
// admitted. Answers the admission of every job.
std::map<std::string, Admission> ComputeAdmissions(const std::vector<QueuedJob>& jobs,
                                                   std::size_t limit);

}  // namespace eidolon::controller::reconcile
