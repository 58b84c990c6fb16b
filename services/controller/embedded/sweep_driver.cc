// The driver is level-based: each step looks at the sweep and its jobs, lets the pure function
// PlanSweep decide, and acts through EmbeddedApi, so that jobs of sweeps pass the checks and limits
// of all others. Names follow from the sweep, so a step that is repeated after a crash creates
// nothing twice. The lock is held for looking only, since creating a job waits for the disk. Await
// counts jobs and ended jobs instead of comparing versions: progress of running jobs changes
// versions all the time and changes no plan. Refusals are kept in memory alone; after a restart
// they are found again.
#include "services/controller/embedded/sweep_driver.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/embedded/stored_object.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;

namespace {

// What could not be done is tried again.
constexpr std::chrono::milliseconds kTryAgain(500);

}  // namespace

struct SweepDriver::Seen {
  std::string name_space;
  std::string uid;
  json sweep;
  sweep::SweepSpec spec;
  bool is_unwanted = false;
  std::map<std::string, json> jobs;               // Summaries.
  std::map<std::string, std::string> recordings;  // That jobs may have left.
};

void SweepDriver::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void SweepDriver::Join() {
  if (thread_.joinable()) thread_.join();
}

bool SweepDriver::Await(ControllerState::Lock* lock) {
  std::size_t jobs = 0, ends = 0;
  state_.AwaitChange(lock, kTryAgain, [&] {
    jobs = state_.table().jobs().size();
    ends = static_cast<std::size_t>(std::ranges::count_if(
        state_.table().jobs(), [](const auto& row) { return row.second.over_unix_ns != 0; }));
    return state_.is_stopping() || jobs != jobs_seen_ || ends != ends_seen_ ||
           state_.table().sweeps().last_version() != version_seen_;
  });
  jobs_seen_ = jobs;
  ends_seen_ = ends;
  version_seen_ = state_.table().sweeps().last_version();
  return !state_.is_stopping();
}

bool SweepDriver::IsStopping() {
  const std::lock_guard lock(state_.mutex());
  return state_.is_stopping();
}

std::vector<std::int64_t> SweepDriver::FindUnfinished() const {
  std::vector<std::int64_t> uids;
  for (const auto& [uid, entry] : state_.table().sweeps().all()) {
    if (entry.is_unwanted() || !sweep::IsSweepOver({{"status", entry.status}})) {
      uids.push_back(uid);
    }
  }
  return uids;
}

void SweepDriver::Loop() {
  while (true) {
    std::vector<std::int64_t> uids;
    {
      ControllerState::Lock lock(state_.mutex());
      if (!Await(&lock)) return;
      uids = FindUnfinished();
    }
    std::erase_if(memories_, [&](const auto& row) {
      return std::ranges::find(uids, row.first) == uids.end();
    });
    for (const std::int64_t uid : uids) Step(uid);
  }
}

// Requires: the lock is held.
SweepDriver::Seen SweepDriver::Look(const SweepEntry& entry) {
  Seen seen = {.name_space = entry.name_space,
               .uid = std::to_string(entry.uid),
               .sweep = SweepTable::Render(entry),
               .spec = entry.spec,
               .is_unwanted = entry.is_unwanted(),
               .jobs = {},
               .recordings = {}};
  for (const auto& [uid, job] : state_.table().jobs()) {
    if (job.name_space != entry.name_space) continue;
    if (LabelOf(job.document, sweep::kSweepUidLabel) != seen.uid) continue;
    seen.jobs[job.name] = JobTable::RenderSummary(job);
    if (job.spec.recording) {
      seen.recordings[job.name] = state_.table().directory().recording_path(uid);
    }
  }
  return seen;
}

void SweepDriver::Step(std::int64_t uid) {
  Seen seen;
  {
    const std::lock_guard lock(state_.mutex());
    const SweepEntry* entry = state_.table().sweeps().Find(uid);
    if (entry == nullptr || state_.is_stopping()) return;
    seen = Look(*entry);
  }
  if (seen.is_unwanted) return DeleteJobs(uid, seen);
  Memory& memory = memories_[uid];
  const sweep::SweepPlan plan =
      sweep::PlanSweep({.sweep = seen.sweep,
                        .spec = seen.spec,
                        .jobs = seen.jobs,
                        .refused = memory.refused,
                        .recording_of =
                            [&](const std::string& job) {
                              std::error_code ignored;
                              const auto found = seen.recordings.find(job);
                              const bool there = found != seen.recordings.end() &&
                                                 std::filesystem::exists(found->second, ignored);
                              return there ? found->second : std::string();
                            },
                        .trouble = memory.trouble,
                        .now = base::FormatUtc(state_.parts().clock.UnixNs())});
  memory.trouble.clear();
  for (const json& job : plan.create) {
    if (memory.trouble.empty() && !IsStopping()) Create(seen, job, &memory);
  }
  metrics::Metrics& metrics = state_.parts().metrics;
  const json now = {{"status", plan.status ? *plan.status : seen.sweep["status"]}};
  metrics.SetSweep(seen.name_space, seen.sweep["metadata"]["name"], sweep::PointsByPhase(now));
  metrics.SetSweepSuspended(seen.name_space, seen.sweep["metadata"]["name"], seen.spec.suspend);
  if (!plan.status) return;
  const std::lock_guard lock(state_.mutex());
  SweepEntry* entry = state_.table().sweeps().Find(uid);
  if (entry == nullptr || entry->is_unwanted()) return;
  state_.table().sweeps().SetStatus(entry, *plan.status);
  if (sweep::IsSweepOver({{"status", *plan.status}})) {
    metrics.FinishSweep(entry->name_space, entry->name, (*plan.status)["phase"]);
    base::Log(base::Level::kInfo, "sweep_over",
              {{"namespace", entry->name_space},
               {"sweep", entry->name},
               {"phase", (*plan.status)["phase"].get<std::string>()}});
  }
  state_.NotifyChanged();
}

void SweepDriver::Create(const Seen& seen, const json& job, Memory* memory) {
  const std::string name = job["metadata"]["name"];
  const auto created = api_.CreateJob(seen.name_space, job, std::nullopt);
  if (created) return;
  const rest::ApiError& error = created.error();
  if (error.code == ErrorCode::kInvalidArgument) {
    memory->refused[name] = error.message;
  } else if (error.code != ErrorCode::kAlreadyExists) {
    memory->trouble = error.message;
  } else if (IsNameTaken(seen, name)) {
    memory->refused[name] = StrCat("another simulation job has the name '", name, "'");
  }
}

bool SweepDriver::IsNameTaken(const Seen& seen, const std::string& job) {
  const auto present = api_.GetJob({seen.name_space, job});
  if (!present) return false;
  return LabelOf(*present, sweep::kSweepUidLabel) != seen.uid &&
         !(*present)["metadata"].contains("deletionTimestamp");
}

void SweepDriver::DeleteJobs(std::int64_t uid, const Seen& seen) {
  for (const auto& [name, job] : seen.jobs) {
    if (job["metadata"].contains("deletionTimestamp")) continue;
    if (IsStopping()) return;
    (void)api_.DeleteJob({seen.name_space, name});
  }
  Memory& memory = memories_[uid];
  if (!seen.jobs.empty() || memory.is_removing) return;
  const std::lock_guard lock(state_.mutex());
  SweepEntry* entry = state_.table().sweeps().Find(uid);
  if (entry == nullptr) return;
  memory.is_removing = true;
  state_.table().sweeps().Remove(entry, [this, name_space = entry->name_space, name = entry->name] {
    state_.parts().metrics.ForgetSweep(name_space, name);
    state_.NotifyChanged();
  });
}

}  // namespace eidolon::controller::embedded
