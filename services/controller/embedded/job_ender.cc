#include "services/controller/embedded/job_ender.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/class_check.h"

namespace eidolon::controller::embedded {

using base::StrCat;

namespace {

// Of a mesh: pipeline, tensor, expert, data in two levels, and one to spare.
constexpr std::size_t kDimensionsMax = 6;

// A recording is given to others: of the environment it keeps what NCCL reads.
nlohmann::json WithoutSecrets(nlohmann::json document) {
  nlohmann::json kept = nlohmann::json::array();
  nlohmann::json& spec = document["spec"];
  for (const nlohmann::json& variable : spec.value("env", nlohmann::json::array())) {
    if (variable.value("name", "").starts_with("NCCL_")) kept.push_back(variable);
  }
  spec["env"] = std::move(kept);
  return document;
}

}  // namespace

void JobEnder::Conclude(std::int64_t uid, ActiveRun* run) {
  base::Result<void> events;
  if (run->parts().resolved.spec.event_log) {
    events = run->SaveEventLogs(state_.table().directory().events_path(uid));
  }
  base::Result<void> timeline;
  if (run->parts().resolved.spec.timeline.iterations > 0) {
    timeline = run->SaveTimeline(state_.table().directory().timeline_path(uid));
  }
  base::Result<void> recording;
  if (run->parts().resolved.spec.recording) recording = SaveRecording(uid, *run);
  const store::LostLines lost = run->parts().log->Close();
  const std::lock_guard lock(state_.mutex());
  JobEntry* entry = state_.table().Find(uid);
  entry->ending = false;
  if (!events) entry->warnings.push_back(events.error().message);
  if (!timeline) entry->warnings.push_back(timeline.error().message);
  if (!recording) entry->warnings.push_back(recording.error().message);
  if (lost.count > 0) {
    entry->warnings.push_back(StrCat(lost.count, " line(s) of output were not stored: ", lost.why));
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
  End(entry, status, verdict);
}

// With what was run and what was predicted, so that a replay can be compared.
base::Result<void> JobEnder::SaveRecording(std::int64_t uid, const ActiveRun& run) {
  nlohmann::json head;
  {
    const std::lock_guard lock(state_.mutex());
    const JobEntry& entry = *state_.table().Find(uid);
    head["job"] = WithoutSecrets(entry.document);
    const ClusterEntry* cluster =
        state_.table().FindCluster(entry.name_space, entry.spec.cluster_name);
    if (cluster != nullptr && !entry.spec.cluster) {
      head["job"]["spec"]["cluster"] = cluster->document["spec"];
      head["job"]["spec"].erase("clusterRef");
    }
  }
  job::JobStatus status;
  run.FillIn(&status, state_.parts().clock.MonotonicNs());
  head["status"] = ToJson(status);
  return run.SaveRecording(head.dump(), state_.table().directory().recording_path(uid));
}

bool JobEnder::StartsAgain(JobEntry* entry, const ActiveRun& run, const job::Verdict& verdict) {
  if (verdict.reason != job::reason::kRanksDiffer) return false;
  if (entry->delete_when_over || state_.is_stopping()) return false;
  std::vector<folding::Dimension>& known = entry->fold_dimensions;
  const std::size_t before = known.size();
  for (const folding::Dimension& found : run.run().ranks_differ_by()) {
    if (std::ranges::count(known, found) == 0) known.push_back(found);
  }
  if (known.size() == before || known.size() > kDimensionsMax) return false;
  const std::string why = StrCat(
      "ranks differ by their position in steps of ", known.back().stride, " (", known.back().size,
      " positions), so it starts again with live ranks of each: ", verdict.message);
  base::Log(base::Level::kInfo, "classes_found", {{"job", entry->name}, {"message", why}});
  state_.SetCondition(entry, job::condition::kScheduled, false, job::reason::kClassesFound, why);
  state_.table().Publish(entry, StatusOf(*entry), false);
  state_.queue().AddFirst(entry->uid);
  state_.NotifyChanged();
  state_.Wake();
  return true;
}

void JobEnder::End(JobEntry* entry, const job::JobStatus& filled, const job::Verdict& verdict) {
  if (entry->delete_when_over) return state_.RemoveJob(entry);
  const std::string result(job::Name(verdict.phase));
  state_.SetCondition(entry, result, true, verdict.reason, verdict.message);
  job::JobStatus status = filled;
  status.conditions = entry->conditions;
  status.completion_time = base::FormatUtc(state_.parts().clock.UnixNs());
  state_.table().Settle(
      entry, ToJson(status), StrCat(result, " (", verdict.reason, "): ", verdict.message),
      [this, status, verdict](JobEntry* over) { OnStored(*over, status, verdict); });
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
  metrics.CountFinishedJob(result, verdict.reason);
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
