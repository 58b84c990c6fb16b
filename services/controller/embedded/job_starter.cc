// A start has three phases. Prepare makes all that can fail, without the lock. The store then takes
// the transition to "placed", and only after that the agents start: from the first moment in which
// the program may have effects, a restarted controller knows that the job ran and does not run it a
// second time. While the store writes, the job may be deleted or the controller stopped, so
// StartAgents looks again and then reports each agent as not started, by which the run ends in the
// usual way. What Prepare has made goes with ActiveRun, except for the job at the network service,
// which is removed by a call.
#include "services/controller/embedded/job_starter.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/log.h"
#include "services/base/utc.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/job/recorded_job.h"
#include "services/controller/place/free_port.h"
#include "services/controller/place/run_directory.h"

namespace eidolon::controller::embedded {

using base::Level;
using base::Log;
using base::Result;

namespace {

// Called before an agent starts for each server that the job names: a recording of a few kilobytes
// can name thousands. Folds the job as the recorded one.
Result<void> CheckRecording(job::ResolvedJob* resolved) {
  const std::string& path = resolved->spec.replay.recording;
  if (path.empty()) return {};
  const auto file = recording::RecordingFile::Open(path);
  if (!file) return std::unexpected(file.error());
  job::Problems problems;
  job::FoldAsRecorded(file->job(), resolved, &problems);
  if (!problems.empty()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      "the recording does not answer for the job: " + job::Describe(problems));
  }
  return file->CheckRanks(resolved->fold.live(), resolved->ranks());
}

}  // namespace

struct JobStarter::Placing {
  std::unique_ptr<ActiveRun> active;
  place::PlacementRequest request;
};

void JobStarter::Start(std::int64_t uid) {
  job::JobSpec spec;
  std::vector<folding::Dimension> dimensions;
  std::optional<job::ClusterSpec> referenced;
  {
    const std::lock_guard lock(state_.mutex());
    const JobEntry& entry = *state_.table().Find(uid);
    spec = entry.spec;
    dimensions = entry.fold_dimensions;
    const ClusterEntry* cluster = state_.table().FindCluster(entry.name_space, spec.cluster_name);
    if (cluster != nullptr && cluster->damage.empty()) referenced = cluster->spec;
  }
  if (!spec.cluster && !referenced) {
    Fail(uid, job::reason::kClusterNotFound,
         "simulated cluster '" + spec.cluster_name +
             "' does not exist any more, or its stored record is damaged");
    return;
  }
  auto active = Prepare(uid, spec, dimensions, referenced ? &*referenced : nullptr);
  if (!active) {
    const bool service = active.error().code == base::ErrorCode::kUnavailable;
    Fail(uid, service ? job::reason::kServiceLost : job::reason::kStartFailed,
         active.error().message);
    return;
  }
  auto placing = std::make_shared<Placing>();
  placing->request = RequestOf(uid, **active);
  placing->active = std::move(*active);
  const std::lock_guard lock(state_.mutex());
  JobEntry& entry = *state_.table().Find(uid);
  // Before the agents start: from then on a dead controller means an interrupted job.
  state_.SetCondition(&entry, job::condition::kScheduled, true, job::reason::kPlaced);
  state_.SetCondition(&entry, job::condition::kRunning, false, job::reason::kStarting);
  job::JobStatus status = StatusOf(entry);
  placing->active->FillIn(&status, state_.parts().clock.MonotonicNs());
  state_.table().Settle(&entry, ToJson(status), "placed",
                        [this, placing](JobEntry* placed) { OnPlaced(placed, placing.get()); });
}

place::PlacementRequest JobStarter::RequestOf(std::int64_t uid, const ActiveRun& active) {
  place::PlacementRequest request = {.job_uid = uid, .controller_address = address_};
  const place::RunDirectory& directory = active.parts().directory;
  for (const std::uint32_t server : active.parts().resolved.AgentServers()) {
    request.agents.push_back({server, active.tokens()[server], directory.server_path(server)});
  }
  if (!options_.keep_run_directories) request.folders.push_back(directory.path());
  for (const std::string& folder : options_.temporary_folders) request.folders.push_back(folder);
  request.on_exit = [this, uid](std::uint32_t server, const std::string& how) {
    agents_.OnExit({uid, server}, how);
  };
  return request;
}

void JobStarter::OnPlaced(JobEntry* entry, Placing* placing) {
  state_.Activate(entry, std::move(placing->active));
  Log(Level::kInfo, "job_started",
      {{"namespace", entry->name_space},
       {"job", entry->name},
       {"run", entry->active->parts().directory.path()}});
  state_.Later([this, uid = entry->uid, request = std::move(placing->request)] {
    StartAgents(uid, request);
  });
  state_.NotifyChanged();
  state_.Wake();
}

Result<std::unique_ptr<ActiveRun>> JobStarter::Prepare(
    std::int64_t uid, const job::JobSpec& spec, std::span<const folding::Dimension> dimensions,
    const job::ClusterSpec* referenced) const {
  const ControllerParts& parts = state_.parts();
  job::Problems problems;
  // The GPU was checked when the job came in.
  job::ResolvedJob resolved = job::Resolve(
      spec, referenced, [] { return std::vector<std::string>(); }, &problems);
  if (problems.empty()) job::FoldJob(job::AvailableMemory(), dimensions, &resolved, &problems);
  if (!problems.empty()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      "the job does not fit its cluster any more: " + job::Describe(problems));
  }
  if (auto fits = CheckRecording(&resolved); !fits) return std::unexpected(fits.error());
  auto directory = place::RunDirectory::Make(options_.run_root, resolved.servers);
  if (!directory) return std::unexpected(directory.error());
  auto log = store::JobLog::Open(state_.table().directory().log_path(uid), spec.log_bytes_max);
  if (!log) return std::unexpected(log.error());
  const auto port = place::FindFreePort();
  if (!port) return std::unexpected(port.error());
  const auto peak_flops = parts.simulators.FindPeakFlops(resolved.cluster.gpu);
  if (!peak_flops) return std::unexpected(peak_flops.error());
  const std::string network_job = NetworkJobOf(uid);
  if (auto registered = parts.simulators.RegisterJob(network_job, resolved); !registered) {
    return std::unexpected(registered.error());
  }
  return std::make_unique<ActiveRun>(
      ActiveRunParts{.resolved = std::move(resolved),
                     .network_job = network_job,
                     .directory = std::move(*directory),
                     .log = std::move(*log),
                     .master_port = *port,
                     .peak_flops = *peak_flops,
                     .now_ns = parts.clock.MonotonicNs(),
                     .start_time = base::FormatUtc(parts.clock.UnixNs())});
}

void JobStarter::Fail(std::int64_t uid, std::string_view reason, const std::string& message) {
  const std::lock_guard lock(state_.mutex());
  JobEntry& entry = *state_.table().Find(uid);
  entry.starting = false;
  Log(Level::kWarning, "job_not_started", {{"job", entry.name}, {"message", message}});
  state_.queue().Remove(uid);
  ender_.End(&entry, StatusOf(entry), {job::Phase::kFailed, std::string(reason), message});
  state_.PublishQueue();
  state_.Wake();
}

void JobStarter::StartAgents(std::int64_t uid, const place::PlacementRequest& request) {
  const base::RealClock& clock = state_.parts().clock;
  bool wanted = true;
  {
    const std::lock_guard lock(state_.mutex());
    JobEntry& entry = *state_.table().Find(uid);
    const bool stopping = state_.is_stopping();
    if (stopping || entry.delete_when_over) {
      wanted = false;
      entry.active->run().Interrupt(
          stopping ? job::reason::kControllerStopped : job::reason::kCancelled,
          stopping ? "the controller was stopped" : "the job was deleted", clock.MonotonicNs());
    }
  }
  Result<void> started;
  if (wanted) started = state_.parts().placement.Start(request);
  if (wanted && started) return;
  const std::lock_guard lock(state_.mutex());
  JobEntry& entry = *state_.table().Find(uid);
  const std::int64_t now_ns = clock.MonotonicNs();
  if (!started) {
    entry.active->run().Fail(job::reason::kStartFailed, started.error().message, now_ns);
  }
  for (const place::AgentSlot& slot : request.agents) {
    entry.active->run().Exited(slot.server, "was not started", now_ns);
  }
  state_.Wake();
}

}  // namespace eidolon::controller::embedded
