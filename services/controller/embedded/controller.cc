// The control thread repeats two steps: Decide looks at everything under the lock and collects
// actions, then the actions run without it, because each may block for seconds. An entry with
// `starting`, `active` or `ending` set is never erased, so an action may use the entry of its uid
// without a check. The tick exists because Run::Step also decides by time alone. Progress is shown
// every 200 ms and stored every second; transitions are not bound to either. Stop joins the sweeps
// first, which would create jobs otherwise, and the store last, which has to write what the control
// thread decided.
#include "services/controller/embedded/controller.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/place/agent_processes.h"
#include "services/controller/place/run_directory.h"

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
// Interval of the search for folders of controllers that were killed.
constexpr std::int64_t kLeftBehindIntervalNs = 5'000'000'000;
// Interval of the checks for guardians of agents that do nothing.
constexpr std::int64_t kGuardianIntervalNs = 1'000'000'000;
// Interval at which the size of the data folder is measured.
constexpr std::int64_t kQuotaIntervalNs = 2'000'000'000;
// A transition that is not stored after this long is explained in the job's status.
constexpr std::int64_t kShowWaitingNs = 1'000'000'000;

}  // namespace

Result<std::unique_ptr<Controller>> Controller::Open(ControllerOptions options,
                                                     ControllerParts parts,
                                                     store::DataDirectory directory,
                                                     store::JobStore store) {
  std::unique_ptr<Controller> controller(
      new Controller(std::move(options), std::move(parts), std::move(directory)));
  ControllerState& state = controller->state_;
  const auto waiting = state.table().Load(std::move(store));
  if (!waiting) return std::unexpected(waiting.error());
  const std::lock_guard lock(state.mutex());
  for (const std::int64_t uid : *waiting) state.queue().Add(uid);
  return controller;
}

Controller::Controller(ControllerOptions options, ControllerParts parts,
                       store::DataDirectory directory)
    : options_(std::move(options)), state_(parts, options_.concurrent_jobs, std::move(directory)) {}

Controller::~Controller() { (void)Stop(); }

void Controller::Start(const std::string& address) {
  starter_.SetAddress(address);
  RemoveLeftBehind();
  if (const int orphans = place::KillOrphanRanks(options_.run_root); orphans > 0) {
    Log(Level::kWarning, "orphan_ranks_killed", {{"count", StrCat(orphans)}});
  }
  {
    const std::lock_guard lock(state_.mutex());
    state_.SetStarted();
  }
  thread_ = std::thread([this] { Loop(); });
  sweeps_.Start();
}

void Controller::RemoveLeftBehind() const {
  const int left = place::CleanUpRuns(options_.run_root);
  if (left > 0) Log(Level::kWarning, "old_runs_removed", {{"count", StrCat(left)}});
}

Result<void> Controller::Stop() {
  {
    const std::lock_guard lock(state_.mutex());
    state_.BeginStop();
  }
  sweeps_.Join();
  if (thread_.joinable()) thread_.join();
  const auto lost = state_.table().Close(kStoreLimit);
  if (lost.empty()) return {};
  for (const std::string& what : lost) Log(Level::kError, "not_stored", {{"what", what}});
  return base::Fail(
      base::ErrorCode::kUnavailable,
      StrCat(lost.size(), " result(s) could not be stored in ", state_.table().directory().path(),
             " and are lost: ", base::Join(lost, "; ")));
}

void Controller::Loop() {
  bool more = true;
  while (more) {
    Actions actions;
    {
      ControllerState::Lock lock(state_.mutex());
      state_.AwaitWake(&lock, kTick);
      more = Decide(&actions);
    }
    for (const auto& action : actions) action();
  }
}

bool Controller::Decide(Actions* actions) {
  const std::int64_t now_ns = state_.parts().clock.MonotonicNs();
  *actions = state_.TakeLater();
  WatchStore(now_ns);
  const std::set<std::int64_t> active = state_.active();
  for (const std::int64_t uid : active) StepJob(state_.table().Find(uid), now_ns, actions);
  if (state_.is_stopping()) return HasUnfinished(now_ns);
  if (now_ns - expiry_checked_ns_ > kExpiryIntervalNs) RemoveExpired(now_ns);
  if (now_ns - left_behind_checked_ns_ > kLeftBehindIntervalNs) {
    left_behind_checked_ns_ = now_ns;
    actions->push_back([this] { RemoveLeftBehind(); });
  }
  if (retention_.has_quota() && now_ns - quota_checked_ns_ > kQuotaIntervalNs) {
    quota_checked_ns_ = now_ns;
    actions->push_back([this] { retention_.HoldQuota(); });
  }
  StartNext(actions);
  return true;
}

void Controller::StartNext(Actions* actions) {
  bool taken = false;
  // A job whose end could not be stored had better wait.
  while (!state_.store_error()) {
    const auto next = state_.queue().TakeNext();
    if (!next) break;
    state_.table().Find(*next)->starting = true;
    actions->push_back([this, uid = *next] { starter_.Start(uid); });
    taken = true;
  }
  if (taken) state_.PublishQueue();
}

void Controller::WatchStore(std::int64_t now_ns) {
  const store::StoreState store = state_.table().store_state();
  state_.parts().metrics.SetStore(store.writable.has_value(), store.unsaved, store.failed_writes);
  state_.SetStoreError(store.writable ? std::nullopt : std::optional(store.writable.error()));
  if (!state_.store_error() || store.unsaved == 0) return;
  for (auto& [uid, entry] : state_.table().jobs()) {
    if (!entry.settling || now_ns - entry.settling_ns < kShowWaitingNs) continue;
    state_.table().ShowWaiting(&entry, *state_.store_error());
    state_.NotifyChanged();
  }
}

// Returns whether something has to come to its end before a stop.
bool Controller::HasUnfinished(std::int64_t now_ns) {
  bool starting = false;
  for (auto& [uid, entry] : state_.table().jobs()) {
    if (entry.starting && !state_.TakeBackStart(&entry)) starting = true;
  }
  const std::int64_t limit_ns = std::chrono::nanoseconds(kStoreLimit).count();
  return !state_.active().empty() || state_.HasLater() ||
         (starting && now_ns - state_.stopping_ns() < limit_ns);
}

void Controller::StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions) {
  job::Run& run = entry->active->run();
  LookAtGuardians(entry, now_ns);
  GiveOrder(entry, run.Step(now_ns), actions);
  if (run.IsOver()) {
    Finish(entry, actions);
    return;
  }
  const job::Condition* running = entry->conditions.Find(job::condition::kRunning);
  if (run.IsRunning() && !running->value) {
    state_.SetCondition(entry, job::condition::kRunning, true, job::reason::kStarted);
    state_.parts().metrics.SetRunning(entry->name_space, entry->name);
  }
  if (run.IsEnding() && running->reason != job::reason::kStopping) {
    state_.SetCondition(entry, job::condition::kRunning, running->value, job::reason::kStopping,
                        run.stop_reason());
  }
  if (!entry->changed || now_ns - entry->published_ns < kPublishIntervalNs) return;
  job::JobStatus status = StatusOf(*entry);
  entry->active->FillIn(&status, now_ns);
  metrics::Metrics& metrics = state_.parts().metrics;
  metrics.SetPrediction(entry->name_space, entry->name, *status.prediction);
  metrics.SetProgress(entry->name_space, entry->name, *status.progress, *status.simulation);
  const bool save = now_ns - entry->saved_ns >= kSaveIntervalNs;
  state_.table().Publish(entry, status, save);
  state_.NotifyChanged();
}

void Controller::LookAtGuardians(JobEntry* entry, std::int64_t now_ns) {
  if (now_ns - entry->guardians_seen_ns < kGuardianIntervalNs) return;
  entry->guardians_seen_ns = now_ns;
  job::Run& run = entry->active->run();
  for (const std::uint32_t server : run.Suspects()) {
    run.SetGuardian(server, state_.parts().placement.DescribeStopped(entry->uid, server));
  }
}

void Controller::GiveOrder(JobEntry* entry, job::Order order, Actions* actions) {
  if (order == job::Order::kNone) return;
  const std::int64_t uid = entry->uid;
  const auto links = entry->active->links();
  if (order == job::Order::kKill) {
    actions->push_back([this, uid] { state_.parts().placement.Kill(uid); });
  } else if (order == job::Order::kTerminate || links.empty()) {
    actions->push_back([this, uid] { state_.parts().placement.Terminate(uid); });
  } else {
    actions->push_back([links, reason = entry->active->run().stop_reason()] {
      for (const auto& link : links) link->SendStop(reason);
    });
  }
}

void Controller::Finish(JobEntry* entry, Actions* actions) {
  const std::shared_ptr<ActiveRun> run = state_.Deactivate(entry);
  if (options_.keep_run_directories) run->parts().directory.Keep();
  // Copying logs, removing a folder and calling a service may take a while.
  actions->push_back([this, uid = entry->uid, run] {
    ender_.Conclude(uid, run.get());
    state_.parts().simulators.RemoveJob(run->parts().network_job);
  });
  state_.PublishQueue();
  state_.Wake();
}

void Controller::RemoveExpired(std::int64_t now_ns) {
  expiry_checked_ns_ = now_ns;
  std::vector<std::int64_t> expired;
  const std::int64_t unix_ns = state_.parts().clock.UnixNs();
  for (const auto& [uid, entry] : state_.table().jobs()) {
    if (entry.over_unix_ns == 0 || !entry.spec.ttl_seconds_after_finished) continue;
    if (!entry.deletion_time.empty()) continue;
    const auto ttl = static_cast<std::int64_t>(*entry.spec.ttl_seconds_after_finished);
    if ((unix_ns - entry.over_unix_ns) / 1'000'000'000 >= ttl) expired.push_back(uid);
  }
  for (const std::int64_t uid : expired) state_.RemoveJob(state_.table().Find(uid));
  retention_.RemoveOldJobs();
}

}  // namespace eidolon::controller::embedded
