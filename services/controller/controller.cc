#include "services/controller/controller.h"

#include <algorithm>
#include <chrono>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/place/free_port.h"

namespace eidolon::controller {
namespace {

using base::Level;
using base::Log;
using base::Result;
using base::StrCat;
constexpr std::chrono::milliseconds kTick(50);
constexpr std::int64_t kPublishIntervalNs = 200'000'000;
constexpr std::int64_t kSaveIntervalNs = 1'000'000'000;
constexpr std::int64_t kExpiryIntervalNs = 1'000'000'000;

}  // namespace

Result<std::unique_ptr<Controller>> Controller::Open(ControllerOptions options,
                                                     ControllerParts parts,
                                                     store::DataDirectory directory,
                                                     store::JobStore store) {
  JobTable table(std::move(directory), std::move(store), parts.clock);
  const auto waiting = table.Load();
  if (!waiting) return std::unexpected(waiting.error());
  std::unique_ptr<Controller> controller(
      new Controller(std::move(options), std::move(parts), std::move(table)));
  for (const std::int64_t uid : *waiting) controller->queue_.Add(uid);
  return controller;
}

Controller::Controller(ControllerOptions options, ControllerParts parts, JobTable table)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      table_(std::move(table)),
      queue_(options_.concurrent_jobs) {}

Controller::~Controller() { Stop(); }

void Controller::Start(const std::string& address) {
  address_ = address;
  const int left = place::CleanUpRuns(options_.run_root);
  if (left > 0) Log(Level::kWarning, "old_runs_removed", {{"count", StrCat(left)}});
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
    PublishQueue();
  }
  thread_ = std::thread([this] { Loop(); });
}

void Controller::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const std::int64_t uid : active_) {
      table_.Find(uid)->active->run().Interrupt(job::reason::kControllerStopped,
                                                "the controller was stopped",
                                                parts_.clock.MonotonicNs());
    }
    Wake();
    changed_.notify_all();
    log_grown_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Controller::Wake() {
  attention_ = true;
  wake_.notify_all();
}

void Controller::Loop() {
  bool more = true;
  while (more) {
    Actions actions;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kTick, [this] { return attention_; });
      attention_ = false;
      more = Decide(&actions);
    }
    for (const auto& action : actions) action();
  }
}

bool Controller::Decide(Actions* actions) {
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  const std::set<std::int64_t> active = active_;
  for (const std::int64_t uid : active) StepJob(table_.Find(uid), now_ns, actions);
  if (stopping_) return !active_.empty();
  if (now_ns - expiry_checked_ns_ > kExpiryIntervalNs) RemoveExpired(now_ns);
  bool taken = false;
  while (const auto next = queue_.TakeNext()) {
    table_.Find(*next)->starting = true;
    actions->push_back([this, uid = *next] { StartJob(uid); });
    taken = true;
  }
  if (taken) PublishQueue();
  return true;
}

void Controller::StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions) {
  job::Run& run = entry->active->run();
  GiveOrder(entry, run.Step(now_ns), actions);
  if (run.IsOver()) {
    Finish(entry, now_ns, actions);
    return;
  }
  const job::Condition* running = entry->conditions.Find(job::condition::kRunning);
  if (run.IsRunning() && !running->value) {
    SetCondition(entry, job::condition::kRunning, true, job::reason::kStarted);
  }
  if (run.IsEnding() && running->reason != job::reason::kStopping) {
    SetCondition(entry, job::condition::kRunning, running->value, job::reason::kStopping,
                 run.stop_reason());
  }
  if (!entry->changed || now_ns - entry->published_ns < kPublishIntervalNs) return;
  job::JobStatus status = StatusOf(*entry);
  entry->active->FillIn(&status, now_ns);
  parts_.metrics.SetPrediction(entry->name_space, entry->name, *status.prediction);
  parts_.metrics.SetProgress(entry->name_space, entry->name, *status.progress, *status.simulation);
  const bool save = now_ns - entry->saved_ns >= kSaveIntervalNs;
  table_.Publish(entry, status, save ? JobTable::Save::kProcess : JobTable::Save::kNo);
  changed_.notify_all();
}

void Controller::GiveOrder(JobEntry* entry, job::Order order, Actions* actions) {
  if (order == job::Order::kNone) return;
  const std::int64_t uid = entry->uid;
  const auto links = entry->active->links();
  if (order == job::Order::kKill) {
    actions->push_back([this, uid] { parts_.placement.Kill(uid); });
  } else if (order == job::Order::kTerminate || links.empty()) {
    actions->push_back([this, uid] { parts_.placement.Terminate(uid); });
  } else {
    actions->push_back([links, reason = entry->active->run().stop_reason()] {
      for (const auto& link : links) link->SendStop(reason);
    });
  }
}

void Controller::Finish(JobEntry* entry, std::int64_t now_ns, Actions* actions) {
  ActiveRun& active = *entry->active;
  const job::Verdict verdict = active.run().Judge();
  SetCondition(entry, job::condition::kRunning, false, job::reason::kFinished);
  SetCondition(entry, job::Name(verdict.phase), true, verdict.reason, verdict.message);
  job::JobStatus status = StatusOf(*entry);
  active.FillIn(&status, now_ns);
  entry->over_unix_ns = parts_.clock.UnixNs();
  status.completion_time = job::FormatTime(entry->over_unix_ns);
  if (entry->spec.event_log) {
    active.SaveEventLogs(table_.directory().events_path(entry->uid));
  }
  table_.Publish(entry, status, JobTable::Save::kPower);
  parts_.metrics.SetPrediction(entry->name_space, entry->name, *status.prediction);
  parts_.metrics.SetProgress(entry->name_space, entry->name, *status.progress, *status.simulation);
  parts_.metrics.CountFinishedJob(std::string(job::Name(verdict.phase)), verdict.reason);
  parts_.metrics.AddCost(*status.simulation, status.progress->virtual_seconds);
  Log(Level::kInfo, "job_over",
      {{"namespace", entry->name_space},
       {"job", entry->name},
       {"result", std::string(job::Name(verdict.phase))},
       {"reason", verdict.reason},
       {"message", verdict.message}});
  if (options_.keep_run_directories) active.parts().directory.Keep();
  // Removing a folder and calling a service may take a while.
  std::shared_ptr<ActiveRun> gone = std::move(entry->active);
  actions->push_back([this, gone] { parts_.simulators.RemoveJob(gone->parts().network_job); });
  active_.erase(entry->uid);
  queue_.Remove(entry->uid);
  if (entry->delete_when_over) RemoveJob(entry->uid);
  PublishQueue();
  Wake();
  log_grown_.notify_all();
}

void Controller::RemoveJob(std::int64_t uid) {
  const JobEntry* entry = table_.Find(uid);
  parts_.metrics.ForgetJob(entry->name_space, entry->name);
  queue_.Remove(uid);
  table_.Delete(uid);
  changed_.notify_all();
  log_grown_.notify_all();
}

void Controller::RemoveExpired(std::int64_t now_ns) {
  expiry_checked_ns_ = now_ns;
  std::vector<std::int64_t> expired;
  const std::int64_t unix_ns = parts_.clock.UnixNs();
  for (const auto& [uid, entry] : table_.jobs()) {
    if (entry.over_unix_ns == 0 || !entry.spec.ttl_seconds_after_finished) continue;
    const auto ttl = static_cast<std::int64_t>(*entry.spec.ttl_seconds_after_finished);
    if ((unix_ns - entry.over_unix_ns) / 1'000'000'000 >= ttl) expired.push_back(uid);
  }
  for (const std::int64_t uid : expired) RemoveJob(uid);
}

void Controller::StartJob(std::int64_t uid) {
  job::JobSpec spec;
  std::optional<job::ClusterSpec> referenced;
  {
    const std::lock_guard lock(mutex_);
    const JobEntry& entry = *table_.Find(uid);
    spec = entry.spec;
    const ClusterEntry* cluster = table_.FindCluster(entry.name_space, spec.cluster_name);
    if (cluster != nullptr) referenced = cluster->spec;
  }
  if (!spec.cluster && !referenced) {
    FailStart(uid, job::reason::kClusterNotFound,
              "simulated cluster '" + spec.cluster_name + "' does not exist any more");
    return;
  }
  auto active = Prepare(uid, spec, referenced ? &*referenced : nullptr);
  if (!active) {
    const bool service = active.error().code == base::ErrorCode::kUnavailable;
    FailStart(uid, service ? job::reason::kServiceLost : job::reason::kStartFailed,
              active.error().message);
    return;
  }
  place::PlacementRequest request{.job_uid = uid, .controller_address = address_};
  for (std::uint32_t server = 0; server < (*active)->tokens().size(); ++server) {
    request.agents.push_back(
        {server, (*active)->tokens()[server], (*active)->parts().directory.server_path(server)});
  }
  if (!options_.keep_run_directories)
    request.folders.push_back((*active)->parts().directory.path());
  if (!options_.temporary_directory.empty()) {
    request.folders.push_back(options_.temporary_directory);
  }
  request.on_exit = [this, uid](std::uint32_t server, const std::string& how) {
    OnAgentExit({uid, server}, how);
  };
  {
    const std::lock_guard lock(mutex_);
    JobEntry& entry = *table_.Find(uid);
    entry.starting = false;
    entry.active = std::move(*active);
    active_.insert(uid);
    // Before the agents start: from here on a dead controller means an interrupted job.
    SetCondition(&entry, job::condition::kScheduled, true, job::reason::kPlaced);
    SetCondition(&entry, job::condition::kRunning, false, job::reason::kStarting);
    job::JobStatus status = StatusOf(entry);
    entry.active->FillIn(&status, parts_.clock.MonotonicNs());
    table_.Publish(&entry, status, JobTable::Save::kPower);
    changed_.notify_all();
    Log(Level::kInfo, "job_started",
        {{"namespace", entry.name_space},
         {"job", entry.name},
         {"run", entry.active->parts().directory.path()}});
  }
  StartAgents(uid, request);
}

Result<std::unique_ptr<ActiveRun>> Controller::Prepare(std::int64_t uid, const job::JobSpec& spec,
                                                       const job::ClusterSpec* referenced) {
  job::Problems problems;
  // The GPU was checked when the job came in.
  job::ResolvedJob resolved = job::Resolve(
      spec, referenced, [] { return std::vector<std::string>(); }, &problems);
  if (!problems.empty()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      "the job does not fit its cluster any more: " + job::Describe(problems));
  }
  auto directory = place::RunDirectory::Make(options_.run_root, resolved.servers);
  if (!directory) return std::unexpected(directory.error());
  auto log = store::JobLog::Open(table_.directory().log_path(uid));
  if (!log) return std::unexpected(log.error());
  const auto port = place::FindFreePort();
  if (!port) return std::unexpected(port.error());
  const auto peak_flops = parts_.simulators.FindPeakFlops(resolved.cluster.gpu);
  if (!peak_flops) return std::unexpected(peak_flops.error());
  const std::string network_job = StrCat("job-", uid);
  if (auto registered = parts_.simulators.RegisterJob(network_job, resolved.cluster,
                                                      resolved.servers, resolved.spec.environment);
      !registered) {
    return std::unexpected(registered.error());
  }
  return std::make_unique<ActiveRun>(
      ActiveRunParts{.resolved = std::move(resolved),
                     .network_job = network_job,
                     .directory = std::move(*directory),
                     .log = std::move(*log),
                     .master_port = *port,
                     .peak_flops = *peak_flops,
                     .now_ns = parts_.clock.MonotonicNs(),
                     .start_time = job::FormatTime(parts_.clock.UnixNs())});
}

void Controller::FailStart(std::int64_t uid, std::string_view reason, const std::string& message) {
  const std::lock_guard lock(mutex_);
  JobEntry& entry = *table_.Find(uid);
  entry.starting = false;
  entry.over_unix_ns = parts_.clock.UnixNs();
  SetCondition(&entry, job::condition::kFailed, true, reason, message);
  job::JobStatus status = StatusOf(entry);
  status.completion_time = job::FormatTime(entry.over_unix_ns);
  table_.Publish(&entry, status, JobTable::Save::kPower);
  parts_.metrics.CountFinishedJob("Failed", std::string(reason));
  Log(Level::kWarning, "job_not_started", {{"job", entry.name}, {"message", message}});
  queue_.Remove(uid);
  if (entry.delete_when_over) RemoveJob(uid);
  PublishQueue();
  Wake();
  log_grown_.notify_all();
}

void Controller::StartAgents(std::int64_t uid, const place::PlacementRequest& request) {
  bool wanted = true;
  {
    const std::lock_guard lock(mutex_);
    JobEntry& entry = *table_.Find(uid);
    if (stopping_ || entry.delete_when_over) {
      wanted = false;
      entry.active->run().Interrupt(
          stopping_ ? job::reason::kControllerStopped : job::reason::kCancelled,
          stopping_ ? "the controller was stopped" : "the job was deleted",
          parts_.clock.MonotonicNs());
    }
  }
  Result<void> started;
  if (wanted) started = parts_.placement.Start(request);
  if (wanted && started) return;
  const std::lock_guard lock(mutex_);
  JobEntry& entry = *table_.Find(uid);
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  if (!started) {
    entry.active->run().Fail(job::reason::kStartFailed, started.error().message, now_ns);
  }
  for (const place::AgentSlot& slot : request.agents) {
    entry.active->run().Exited(slot.server, "was not started", now_ns);
  }
  Wake();
}

void Controller::OnAgentExit(AgentName agent, std::string how) {
  const std::lock_guard lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  const std::string tail = active->AgentLogTail(agent.server);
  if (!tail.empty()) how += "; its log ends with: " + tail;
  active->run().Exited(agent.server, how, parts_.clock.MonotonicNs());
  entry->changed = true;
  Wake();
}

ActiveRun* Controller::FindRun(AgentName agent, JobEntry** entry) {
  if (!active_.contains(agent.job_uid)) return nullptr;
  *entry = table_.Find(agent.job_uid);
  return (*entry)->active.get();
}

void Controller::SetCondition(JobEntry* entry, std::string_view type, bool value,
                              std::string_view reason, const std::string& message) {
  entry->conditions.Set({std::string(type), value, std::string(reason), message,
                         job::FormatTime(parts_.clock.UnixNs())});
  entry->changed = true;
}

void Controller::PublishQueue() {
  parts_.metrics.SetQueue(queue_.waiting(), queue_.running());
  for (auto& [uid, entry] : table_.jobs()) {
    const auto position = queue_.PositionOf(uid);
    if (!position) continue;
    const std::string message =
        StrCat("waiting: ", *position, " job(s) before this one, ", queue_.running(), " running");
    const job::Condition* scheduled = entry.conditions.Find(job::condition::kScheduled);
    if (scheduled != nullptr && scheduled->message == message) continue;
    SetCondition(&entry, job::condition::kScheduled, false, job::reason::kQueued, message);
    table_.Publish(&entry, StatusOf(entry), JobTable::Save::kNo);
  }
  changed_.notify_all();
}

}  // namespace eidolon::controller
