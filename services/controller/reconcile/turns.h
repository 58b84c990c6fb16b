// Whose turn it is: a limited number of jobs at a time, fairly between namespaces.
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
  bool active = false;  // Has had its turn and is not over.
};

// The namespace with the fewest active jobs is next, there the oldest job. Active jobs keep their
// turn. Answers the turn of every job.
std::map<std::string, Turn> ComputeTurns(const std::vector<QueuedJob>& jobs, std::size_t limit);

}  // namespace eidolon::controller::reconcile
