// Three condition variables serve three kinds of waiters: the control thread, watchers of objects
// and readers of logs. A line of output therefore wakes the readers of logs only. `attention_`
// keeps a Wake that comes while the control thread works, so that it is not lost. PublishQueue
// gives a new version to a job only if its message has changed; otherwise each start would wake the
// watchers of all waiting jobs. A job keeps its place in the queue while it runs, until Deactivate
// takes it out.
#include "services/controller/embedded/controller_state.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"

namespace eidolon::controller::embedded {

using base::StrCat;

std::string NetworkJobOf(std::int64_t uid) { return StrCat("job-", uid); }

ControllerState::ControllerState(const ControllerParts& parts, std::size_t concurrent_jobs,
                                 store::DataDirectory directory)
    : parts_(parts), queue_(concurrent_jobs), table_(std::move(directory), parts_.clock, &mutex_) {}

ActiveRun* ControllerState::FindRun(agents::AgentName agent, JobEntry** entry) {
  if (!active_.contains(agent.job_uid)) return nullptr;
  *entry = table_.Find(agent.job_uid);
  return (*entry)->active.get();
}

void ControllerState::SetCondition(JobEntry* entry, std::string_view type, bool value,
                                   std::string_view reason, const std::string& message) {
  entry->conditions.Set({std::string(type), value, std::string(reason), message,
                         base::FormatUtc(parts_.clock.UnixNs())});
  entry->changed = true;
}

void ControllerState::PublishQueue() {
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
  NotifyChanged();
}

void ControllerState::Activate(JobEntry* entry, std::unique_ptr<ActiveRun> run) {
  entry->starting = false;
  entry->active = std::move(run);
  active_.insert(entry->uid);
}

std::unique_ptr<ActiveRun> ControllerState::Deactivate(JobEntry* entry) {
  entry->ending = true;
  active_.erase(entry->uid);
  queue_.Remove(entry->uid);
  return std::move(entry->active);
}

bool ControllerState::TakeBackStart(JobEntry* entry) {
  if (!entry->settling || !table_.TakeBack(entry->uid)) return false;
  entry->starting = false;
  entry->settling = false;
  entry->conditions =
      job::Conditions::FromJson(entry->status.value("conditions", nlohmann::json::array()));
  queue_.Remove(entry->uid);
  Later([this, job = NetworkJobOf(entry->uid)] { parts_.simulators.RemoveJob(job); });
  return true;
}

void ControllerState::RemoveJob(JobEntry* entry) {
  queue_.Remove(entry->uid);
  table_.Delete(entry, [this, name_space = entry->name_space, name = entry->name] {
    parts_.metrics.ForgetJob(name_space, name);
    PublishQueue();
    NotifyLogGrown();
  });
}

void ControllerState::SetStoreError(std::optional<base::Error> error) {
  if (error == store_error_) return;
  store_error_ = std::move(error);
  PublishQueue();
}

void ControllerState::SetQuotaError(std::string error) {
  if (quota_error_.empty() != error.empty()) {
    base::Log(error.empty() ? base::Level::kInfo : base::Level::kError,
              error.empty() ? "data_folder_within_quota" : "data_folder_over_quota",
              {{"folder", table_.directory().path()}});
  }
  quota_error_ = std::move(error);
}

void ControllerState::Wake() {
  attention_ = true;
  wake_.notify_all();
}

void ControllerState::AwaitWake(Lock* lock, std::chrono::milliseconds limit) {
  wake_.wait_for(*lock, limit, [this] { return attention_; });
  attention_ = false;
}

bool ControllerState::AwaitChange(Lock* lock, std::chrono::milliseconds limit,
                                  const std::function<bool()>& holds) {
  return changed_.wait_for(*lock, limit, holds);
}

bool ControllerState::AwaitLog(Lock* lock, std::chrono::milliseconds limit,
                               const std::function<bool()>& holds) {
  return log_grown_.wait_for(*lock, limit, holds);
}

void ControllerState::SetStarted() {
  started_ = true;
  PublishQueue();
}

void ControllerState::BeginStop() {
  if (!stopping_) stopping_ns_ = parts_.clock.MonotonicNs();
  stopping_ = true;
  for (const std::int64_t uid : active_) {
    table_.Find(uid)->active->run().Interrupt(
        job::reason::kControllerStopped, "the controller was stopped", parts_.clock.MonotonicNs());
  }
  Wake();
  NotifyChanged();
  NotifyLogGrown();
}

}  // namespace eidolon::controller::embedded
