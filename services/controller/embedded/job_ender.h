// How jobs end in embedded mode: what a run leaves behind is kept, the run is judged, and the
// verdict is stored before it is shown.
//
// Threads: the control thread. Functions say whether they need the lock of the state.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "services/controller/embedded/controller_state.h"
#include "services/controller/job/run.h"
#include "services/controller/job/status.h"

namespace eidolon::controller::embedded {

class JobEnder {
 public:
  // The state must outlive it.
  explicit JobEnder(ControllerState* state) : state_(*state) {}

  // Concludes a job whose agents are gone. Without the lock: keeps event logs and output, judges
  // the run.
  void Conclude(std::int64_t uid, ActiveRun* run);
  // Stores how a job has ended; it is over when that is done, or gone when it was deleted
  // meanwhile. `filled`: its status but for the verdict. Requires: the lock.
  void End(JobEntry* entry, const job::JobStatus& filled, const job::Verdict& verdict);

 private:
  struct Ended {
    job::JobStatus status;  // But for the verdict.
    job::Verdict verdict;
    nlohmann::json critical_path;  // Of the document; null: none.
  };
  void Store(JobEntry* entry, Ended ended);
  base::Result<void> SaveRecording(std::int64_t uid, const ActiveRun& run);
  // A folded job whose ranks have shown to be of more classes waits again, as the first one, to be
  // run with these. False: nothing new was found, or nobody wants it. Requires: the lock.
  bool StartsAgain(JobEntry* entry, const ActiveRun& run, const job::Verdict& verdict);
  void OnStored(const JobEntry& entry, const job::JobStatus& status, const job::Verdict& verdict);

  ControllerState& state_;
};

}  // namespace eidolon::controller::embedded
