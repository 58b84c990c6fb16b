// The order of the steps is what a crash may interrupt: files are saved, the run is judged, the
// verdict is stored, and only then is the job shown as over. A controller that dies before the
// verdict is stored finds a running job at its next start and reports it as Interrupted. Conclude
// owns the run alone: Deactivate has taken it out of the table, so no report of an agent can reach
// it. It copies files without the lock. A folded job that turned out to have more classes goes back
// to the queue's front instead of being judged.
#include "services/controller/embedded/job_ender.h"

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/class_check.h"
#include "services/controller/job/critical_path.h"
#include "services/controller/job/found_classes.h"
#include "services/controller/job/recorded_job.h"

namespace eidolon::controller::embedded {

using base::StrCat;

void JobEnder::Conclude(std::int64_t uid, ActiveRun* run) {
  base::Result<void> events;
  if (run->parts().resolved.spec.event_log) {
    events = run->SaveEventLogs(state_.table().directory().events_path(uid));
  }
  base::Result<void> timeline;
  std::optional<base::Result<critical_path::Summary>> path;
  if (run->parts().resolved.spec.timeline.iterations > 0) {
    timeline = run->SaveTimeline(state_.table().directory().timeline_path(uid));
    if (timeline) path = run->FindCriticalPath();
  }
  base::Result<void> recording;
  if (run->parts().resolved.spec.recording) recording = SaveRecording(uid, *run);
  const store::LostLines lost = run->parts().log->Close();
  const std::uint64_t left_out = run->parts().log->left_out();
  const std::lock_guard lock(state_.mutex());
  JobEntry* entry = state_.table().Find(uid);
  entry->ending = false;
  if (!events) entry->warnings.push_back(events.error().message);
  if (!timeline) entry->warnings.push_back(timeline.error().message);
  if (path && !*path) entry->warnings.push_back(path->error().message);
  if (!recording) entry->warnings.push_back(recording.error().message);
  if (lost.count > 0) {
    entry->warnings.push_back(StrCat(lost.count, " line(s) of output were not stored: ", lost.why));
  }
  if (left_out > 0) {
    entry->warnings.push_back(
        StrCat(job::FormatBytes(left_out),
               " of output were left out of the log, which keeps the beginning and the end of it "
               "(limits.logBytes: ",
               entry->spec.log_bytes_max, ")"));
  }
  const job::Verdict verdict = run->run().Judge();
  state_.SetCondition(entry, job::condition::kRunning, false, job::reason::kFinished);
  if (StartsAgain(entry, *run, verdict)) return;
  job::JobStatus status = StatusOf(*entry);
  run->FillIn(&status, state_.parts().clock.MonotonicNs());
  if (status.prediction) {
    for (std::string& warning :
         job::MemoryWarnings(run->parts().resolved.fold, status.prediction->memory)) {
      status.warnings.push_back(warning);
      entry->warnings.push_back(std::move(warning));
    }
  }
  Store(entry, {.status = status,
                .verdict = verdict,
                .critical_path = path && *path ? job::ToJson(**path) : nlohmann::json()});
}

// Saves it with what was run and what was predicted, so that a replay can be compared.
base::Result<void> JobEnder::SaveRecording(std::int64_t uid, const ActiveRun& run) {
  nlohmann::json document;
  {
    const std::lock_guard lock(state_.mutex());
    const JobEntry& entry = *state_.table().Find(uid);
    const ClusterEntry* cluster =
        state_.table().FindCluster(entry.name_space, entry.spec.cluster_name);
    const bool refers = cluster != nullptr && !entry.spec.cluster;
    document =
        job::RecordedJob(entry.document, refers ? cluster->document["spec"] : nlohmann::json());
  }
  job::JobStatus status;
  run.FillIn(&status, state_.parts().clock.MonotonicNs());
  return run.SaveRecording(
      job::RecordingHead(std::move(document), ToJson(status), run.parts().resolved),
      state_.table().directory().recording_path(uid));
}

bool JobEnder::StartsAgain(JobEntry* entry, const ActiveRun& run, const job::Verdict& verdict) {
  if (entry->delete_when_over || state_.is_stopping()) return false;
  if (!entry->spec.replay.recording.empty()) return false;  // No rank would do anything else.
  auto found = job::FindClasses(verdict, entry->fold_dimensions, run.run().ranks_differ_by());
  if (!found) return false;
  entry->fold_dimensions = std::move(found->dimensions);
  base::Log(base::Level::kInfo, "classes_found",
            {{"job", entry->name}, {"message", found->message}});
  state_.SetCondition(entry, job::condition::kScheduled, false, job::reason::kClassesFound,
                      found->message);
  state_.table().Publish(entry, StatusOf(*entry), false);
  state_.queue().AddFirst(entry->uid);
  state_.NotifyChanged();
  state_.Wake();
  return true;
}

void JobEnder::End(JobEntry* entry, const job::JobStatus& filled, const job::Verdict& verdict) {
  Store(entry, {.status = filled, .verdict = verdict, .critical_path = {}});
}

void JobEnder::Store(JobEntry* entry, Ended ended) {
  if (entry->delete_when_over) return state_.RemoveJob(entry);
  auto& [status, verdict, critical_path] = ended;
  const std::string result(job::Name(verdict.phase));
  state_.SetCondition(entry, result, true, verdict.reason, verdict.message);
  status.conditions = entry->conditions;
  status.completion_time = base::FormatUtc(state_.parts().clock.UnixNs());
  nlohmann::json document = ToJson(status);
  if (!critical_path.is_null()) document["prediction"]["criticalPath"] = std::move(critical_path);
  const std::string what = StrCat(result, " (", verdict.reason, "): ", verdict.message);
  state_.table().Settle(entry, std::move(document), what,
                        [this, stored = std::move(ended)](JobEntry* over) {
                          OnStored(*over, stored.status, stored.verdict);
                        });
}

void JobEnder::OnStored(const JobEntry& entry, const job::JobStatus& status,
                        const job::Verdict& verdict) {
  metrics::Metrics& metrics = state_.parts().metrics;
  if (status.prediction) {
    metrics.SetPrediction(entry.name_space, entry.name, *status.prediction);
    metrics.SetProgress(entry.name_space, entry.name, *status.progress, *status.simulation);
    metrics.AddCost(*status.simulation, status.progress->virtual_seconds);
  }
  const std::string result(job::Name(verdict.phase));
  metrics.FinishJob(entry.name_space, entry.name, result, verdict.reason, verdict.message);
  base::Log(base::Level::kInfo, "job_over",
            {{"namespace", entry.name_space},
             {"job", entry.name},
             {"result", result},
             {"reason", verdict.reason},
             {"message", verdict.message}});
  state_.NotifyChanged();
  state_.NotifyLogGrown();
}

}  // namespace eidolon::controller::embedded
