// Keeps a data folder from growing for ever: removes finished jobs that are too many or too old,
// and, over a quota, first what the oldest ones have left (logs, event logs, timelines,
// recordings), then refuses new jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "services/controller/embedded/controller_parts.h"
#include "services/controller/embedded/controller_state.h"

namespace eidolon::controller::embedded {

// Used by the control thread. Jobs that run, wait or belong to a sweep that goes on are left alone;
// so are jobs with damaged records, which somebody should look at.
class Retention {
 public:
  // The state must outlive it.
  Retention(const RetentionOptions& options, ControllerState* state)
      : options_(options), state_(*state) {}

  // Requires: the lock.
  void RemoveOldJobs();
  bool has_quota() const { return options_.data_bytes_max > 0; }
  // Without the lock: looks at every file.
  void HoldQuota();

 private:
  // Finished jobs that may be removed, the oldest first. Requires: the lock.
  std::vector<std::int64_t> FindRemovable() const;
  void RemoveOutputs(std::int64_t uid, std::uint64_t bytes);

  const RetentionOptions options_;
  ControllerState& state_;
};

}  // namespace eidolon::controller::embedded
