#include "services/controller/embedded/controller.h"

#include <algorithm>
#include <chrono>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/place/free_port.h"

namespace eidolon::controller::embedded {
namespace {

using base::Level;
using base::Log;
using base::Result;
using base::StrCat;
constexpr std::chrono::milliseconds kTick(50);
constexpr std::int64_t kPublishIntervalNs = 200'000'000;
constexpr std::int64_t kSaveIntervalNs = 1'000'000'000;
constexpr std::int64_t kExpiryIntervalNs = 1'000'000'000;
// How often folders of controllers that were killed are looked for.
constexpr std::int64_t kLeftBehindIntervalNs = 5'000'000'000;
// A transition that is not stored after this long is explained in the job's status.
constexpr std::int64_t kShowWaitingNs = 1'000'000'000;
// How long a stop waits for what must be stored.
constexpr std::chrono::milliseconds kStoreLimit(10'000);

// The name at the network service.
std::string NetworkJobOf(std::int64_t uid) { return StrCat("job-", uid); }

}  // namespace

struct Controller::Placing {
  std::unique_ptr<ActiveRun> active;
  place::PlacementRequest request;
};

Result<std::unique_ptr<Controller>> Controller::Open(ControllerOptions options,
                                                     ControllerParts parts,
                                                     store::DataDirectory directory,
                                                     store::JobStore store) {
  std::unique_ptr<Controller> controller(
      new Controller(std::move(options), std::move(parts), std::move(directory)));
  const auto waiting = controller->table_.Load(std::move(store));
  if (!waiting) return std::unexpected(waiting.error());
  const std::lock_guard lock(controller->mutex_);
  for (const std::int64_t uid : *waiting) controller->queue_.Add(uid);
  return controller;
}

Controller::Controller(ControllerOptions options, ControllerParts parts,
                       store::DataDirectory directory)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      table_(std::move(directory), parts_.clock, &mutex_),
      queue_(options_.concurrent_jobs) {}

Controller::~Controller() { (void)Stop(); }

void Controller::Start(const std::string& address) {
  address_ = address;
  RemoveLeftBehind();
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
    PublishQueue();
  }
  thread_ = std::thread([this] { Loop(); });
}

void Controller::RemoveLeftBehind() const {
  const int left = place::CleanUpRuns(options_.run_root);
  if (left > 0) Log(Level::kWarning, "old_runs_removed", {{"count", StrCat(left)}});
}

Result<void> Controller::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) stopping_ns_ = parts_.clock.MonotonicNs();
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
  const auto lost = table_.Close(kStoreLimit);
  if (lost.empty()) return {};
  for (const std::string& what : lost) Log(Level::kError, "not_stored", {{"what", what}});
  return base::Fail(base::ErrorCode::kUnavailable,
                    StrCat(lost.size(), " result(s) could not be stored in ",
                           table_.directory().path(), " and are lost: ", base::Join(lost, "; ")));
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
  *actions = std::exchange(later_, {});
  WatchStore(now_ns);
  const std::set<std::int64_t> active = active_;
  for (const std::int64_t uid : active) StepJob(table_.Find(uid), now_ns, actions);
  if (stopping_) return HasUnfinished(now_ns);
  if (now_ns - expiry_checked_ns_ > kExpiryIntervalNs) RemoveExpired(now_ns);
  if (now_ns - left_behind_checked_ns_ > kLeftBehindIntervalNs) {
    left_behind_checked_ns_ = now_ns;
    actions->push_back([this] { RemoveLeftBehind(); });
  }
  bool taken = false;
  // A job whose end could not be stored had better wait.
  while (!store_error_) {
    const auto next = queue_.TakeNext();
    if (!next) break;
    table_.Find(*next)->starting = true;
    actions->push_back([this, uid = *next] { StartJob(uid); });
    taken = true;
  }
  if (taken) PublishQueue();
  return true;
}

void Controller::WatchStore(std::int64_t now_ns) {
  const store::StoreState state = table_.store_state();
  parts_.metrics.SetStore(state.writable.has_value(), state.unsaved, state.failed_writes);
  const std::optional<base::Error> error =
      state.writable ? std::nullopt : std::optional(state.writable.error());
  if (error != store_error_) {
    store_error_ = error;
    PublishQueue();
  }
  if (!error || state.unsaved == 0) return;
  for (auto& [uid, entry] : table_.jobs()) {
    if (!entry.settling || now_ns - entry.settling_ns < kShowWaitingNs) continue;
    table_.ShowWaiting(&entry, *error);
    changed_.notify_all();
  }
}

// Whether something has to come to its end before a stop.
bool Controller::HasUnfinished(std::int64_t now_ns) {
  bool starting = false;
  for (auto& [uid, entry] : table_.jobs()) {
    if (entry.starting && !TakeBackStart(&entry)) starting = true;
  }
  const std::int64_t limit_ns = std::chrono::nanoseconds(kStoreLimit).count();
  return !active_.empty() || !later_.empty() || (starting && now_ns - stopping_ns_ < limit_ns);
}

void Controller::StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions) {
  job::Run& run = entry->active->run();
  GiveOrder(entry, run.Step(now_ns), actions);
  if (run.IsOver()) {
    Finish(entry, actions);
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
  table_.Publish(entry, status, save);
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

void Controller::Finish(JobEntry* entry, Actions* actions) {
  std::shared_ptr<ActiveRun> run = std::move(entry->active);
  entry->ending = true;
  active_.erase(entry->uid);
  queue_.Remove(entry->uid);
  if (options_.keep_run_directories) run->parts().directory.Keep();
  // Copying logs, removing a folder and calling a service may take a while.
  actions->push_back([this, uid = entry->uid, run] {
    Conclude(uid, run.get());
    parts_.simulators.RemoveJob(run->parts().network_job);
  });
  PublishQueue();
  Wake();
}

void Controller::Conclude(std::int64_t uid, ActiveRun* run) {
  Result<void> events;
  if (run->parts().resolved.spec.event_log) {
    events = run->SaveEventLogs(table_.directory().events_path(uid));
  }
  const store::LostLines lost = run->parts().log->Close();
  const std::lock_guard lock(mutex_);
  JobEntry* entry = table_.Find(uid);
  entry->ending = false;
  if (!events) entry->warnings.push_back(events.error().message);
  if (lost.count > 0) {
    entry->warnings.push_back(StrCat(lost.count, " line(s) of output were not stored: ", lost.why));
  }
  const job::Verdict verdict = run->run().Judge();
  SetCondition(entry, job::condition::kRunning, false, job::reason::kFinished);
  job::JobStatus status = StatusOf(*entry);
  run->FillIn(&status, parts_.clock.MonotonicNs());
  End(entry, status, verdict);
}

void Controller::End(JobEntry* entry, const job::JobStatus& filled, const job::Verdict& verdict) {
  if (entry->delete_when_over) return RemoveJob(entry);
  const std::string result(job::Name(verdict.phase));
  SetCondition(entry, result, true, verdict.reason, verdict.message);
  job::JobStatus status = filled;
  status.conditions = entry->conditions;
  status.completion_time = base::FormatUtc(parts_.clock.UnixNs());
  table_.Settle(entry, ToJson(status), StrCat(result, " (", verdict.reason, "): ", verdict.message),
                [this, status, verdict, result](JobEntry* over) {
                  if (status.prediction) {
                    parts_.metrics.SetPrediction(over->name_space, over->name, *status.prediction);
                    parts_.metrics.SetProgress(over->name_space, over->name, *status.progress,
                                               *status.simulation);
                    parts_.metrics.AddCost(*status.simulation, status.progress->virtual_seconds);
                  }
                  parts_.metrics.CountFinishedJob(result, verdict.reason);
                  Log(Level::kInfo, "job_over",
                      {{"namespace", over->name_space},
                       {"job", over->name},
                       {"result", result},
                       {"reason", verdict.reason},
                       {"message", verdict.message}});
                  changed_.notify_all();
                  log_grown_.notify_all();
                });
}

void Controller::RemoveJob(JobEntry* entry) {
  queue_.Remove(entry->uid);
  table_.Delete(entry, [this, name_space = entry->name_space, name = entry->name] {
    parts_.metrics.ForgetJob(name_space, name);
    PublishQueue();
    changed_.notify_all();
    log_grown_.notify_all();
  });
}

void Controller::RemoveExpired(std::int64_t now_ns) {
  expiry_checked_ns_ = now_ns;
  std::vector<std::int64_t> expired;
  const std::int64_t unix_ns = parts_.clock.UnixNs();
  for (const auto& [uid, entry] : table_.jobs()) {
    if (entry.over_unix_ns == 0 || !entry.spec.ttl_seconds_after_finished) continue;
    if (!entry.deletion_time.empty()) continue;
    const auto ttl = static_cast<std::int64_t>(*entry.spec.ttl_seconds_after_finished);
    if ((unix_ns - entry.over_unix_ns) / 1'000'000'000 >= ttl) expired.push_back(uid);
  }
  for (const std::int64_t uid : expired) RemoveJob(table_.Find(uid));
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
  auto placing = std::make_shared<Placing>();
  placing->request = {.job_uid = uid, .controller_address = address_};
  for (const std::uint32_t server : (*active)->parts().resolved.AgentServers()) {
    placing->request.agents.push_back(
        {server, (*active)->tokens()[server], (*active)->parts().directory.server_path(server)});
  }
  if (!options_.keep_run_directories) {
    placing->request.folders.push_back((*active)->parts().directory.path());
  }
  if (!options_.temporary_directory.empty()) {
    placing->request.folders.push_back(options_.temporary_directory);
  }
  placing->request.on_exit = [this, uid](std::uint32_t server, const std::string& how) {
    OnAgentExit({uid, server}, how);
  };
  placing->active = std::move(*active);
  const std::lock_guard lock(mutex_);
  JobEntry& entry = *table_.Find(uid);
  // Before the agents start: from then on a dead controller means an interrupted job.
  SetCondition(&entry, job::condition::kScheduled, true, job::reason::kPlaced);
  SetCondition(&entry, job::condition::kRunning, false, job::reason::kStarting);
  job::JobStatus status = StatusOf(entry);
  placing->active->FillIn(&status, parts_.clock.MonotonicNs());
  table_.Settle(&entry, ToJson(status), "placed",
                [this, placing](JobEntry* placed) { OnPlaced(placed, placing.get()); });
}

void Controller::OnPlaced(JobEntry* entry, Placing* placing) {
  entry->starting = false;
  entry->active = std::move(placing->active);
  active_.insert(entry->uid);
  Log(Level::kInfo, "job_started",
      {{"namespace", entry->name_space},
       {"job", entry->name},
       {"run", entry->active->parts().directory.path()}});
  later_.push_back([this, uid = entry->uid, request = std::move(placing->request)] {
    StartAgents(uid, request);
  });
  changed_.notify_all();
  Wake();
}

bool Controller::TakeBackStart(JobEntry* entry) {
  if (!entry->settling || !table_.TakeBack(entry->uid)) return false;
  entry->starting = false;
  entry->settling = false;
  entry->conditions =
      job::Conditions::FromJson(entry->status.value("conditions", nlohmann::json::array()));
  queue_.Remove(entry->uid);
  later_.push_back([this, job = NetworkJobOf(entry->uid)] { parts_.simulators.RemoveJob(job); });
  return true;
}

Result<std::unique_ptr<ActiveRun>> Controller::Prepare(std::int64_t uid, const job::JobSpec& spec,
                                                       const job::ClusterSpec* referenced) {
  job::Problems problems;
  // The GPU was checked when the job came in.
  job::ResolvedJob resolved = job::Resolve(
      spec, referenced, [] { return std::vector<std::string>(); }, &problems);
  if (problems.empty()) job::FoldJob(job::AvailableMemory(), &resolved, &problems);
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
  const std::string network_job = NetworkJobOf(uid);
  if (auto registered = parts_.simulators.RegisterJob(network_job, resolved); !registered) {
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
                     .start_time = base::FormatUtc(parts_.clock.UnixNs())});
}

void Controller::FailStart(std::int64_t uid, std::string_view reason, const std::string& message) {
  const std::lock_guard lock(mutex_);
  JobEntry& entry = *table_.Find(uid);
  entry.starting = false;
  Log(Level::kWarning, "job_not_started", {{"job", entry.name}, {"message", message}});
  queue_.Remove(uid);
  End(&entry, StatusOf(entry), {job::Phase::kFailed, std::string(reason), message});
  PublishQueue();
  Wake();
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

void Controller::OnAgentExit(agents::AgentName agent, std::string how) {
  std::unique_lock lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  const std::string folder = active->parts().directory.server_path(agent.server);
  lock.unlock();
  const std::string tail = AgentLogTail(folder);
  if (!tail.empty()) how += "; its log ends with: " + tail;
  lock.lock();
  active = FindRun(agent, &entry);
  if (active == nullptr) return;
  active->run().Exited(agent.server, how, parts_.clock.MonotonicNs());
  entry->changed = true;
  Wake();
}

ActiveRun* Controller::FindRun(agents::AgentName agent, JobEntry** entry) {
  if (!active_.contains(agent.job_uid)) return nullptr;
  *entry = table_.Find(agent.job_uid);
  return (*entry)->active.get();
}

void Controller::SetCondition(JobEntry* entry, std::string_view type, bool value,
                              std::string_view reason, const std::string& message) {
  entry->conditions.Set({std::string(type), value, std::string(reason), message,
                         base::FormatUtc(parts_.clock.UnixNs())});
  entry->changed = true;
}

void Controller::PublishQueue() {
  parts_.metrics.SetQueue(queue_.waiting(), queue_.running());
  for (auto& [uid, entry] : table_.jobs()) {
    const auto position = queue_.PositionOf(uid);
    if (!position) continue;
    const std::string message =
        store_error_ ? StrCat("waiting until the store can be written: ", store_error_->message)
                     : StrCat("waiting: ", *position, " job(s) before this one, ", queue_.running(),
                              " running");
    const job::Condition* scheduled = entry.conditions.Find(job::condition::kScheduled);
    if (scheduled != nullptr && scheduled->message == message) continue;
    SetCondition(&entry, job::condition::kScheduled, false,
                 store_error_ ? job::reason::kWaitingForStore : job::reason::kQueued, message);
    table_.Publish(&entry, StatusOf(entry), false);
  }
  changed_.notify_all();
}

}  // namespace eidolon::controller::embedded
