// The state that the parts of the embedded controller share, under one lock: the jobs, the queue,
// which jobs run, and what the control thread has to do. Its functions keep what belongs together
// in step: table and queue, conditions and metrics, changes and those who wait for them.
//
// Threads: the lock is held for short times, never during a call that may block. All functions
// require it unless they say otherwise.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/controller/agents/agent_link.h"
#include "services/controller/embedded/active_run.h"
#include "services/controller/embedded/controller_parts.h"
#include "services/controller/embedded/job_table.h"
#include "services/controller/place/job_queue.h"

namespace eidolon::controller::embedded {

// Returns how long a stop waits for what must be stored.
inline constexpr std::chrono::milliseconds kStoreLimit(10'000);

// The name of a job at the network service.
std::string NetworkJobOf(std::int64_t uid);

class ControllerState {
 public:
  using Action = std::function<void()>;
  using Lock = std::unique_lock<std::mutex>;

  ControllerState(const ControllerParts& parts, std::size_t concurrent_jobs,
                  store::DataDirectory directory);

  // Need no lock.
  std::mutex& mutex() { return mutex_; }
  const ControllerParts& parts() const { return parts_; }

  JobTable& table() { return table_; }
  place::JobQueue& queue() { return queue_; }
  // Jobs with an ActiveRun, by uid.
  const std::set<std::int64_t>& active() const { return active_; }
  // The run of an agent's job and the job's entry; null when it has none any more.
  ActiveRun* FindRun(agents::AgentName agent, JobEntry** entry);

  void SetCondition(JobEntry* entry, std::string_view type, bool value, std::string_view reason,
                    const std::string& message = "");
  // Says in the status of each job that waits what it waits for.
  void PublishQueue();
  // Takes the job from being started to running.
  void Activate(JobEntry* entry, std::unique_ptr<ActiveRun> run);
  // From running to being ended: its agents are gone.
  std::unique_ptr<ActiveRun> Deactivate(JobEntry* entry);
  // Back to the jobs that wait, unless the start is being stored at this moment.
  bool TakeBackStart(JobEntry* entry);
  // The job is gone when that is stored.
  void RemoveJob(JobEntry* entry);
  // As the queue shows it; those who wait are told of a change.
  const std::optional<base::Error>& store_error() const { return store_error_; }
  void SetStoreError(std::optional<base::Error> error);

  // Why no job is taken in, over the data folder's quota; empty: there is room.
  const std::string& quota_error() const { return quota_error_; }
  void SetQuotaError(std::string error);

  // Queues an action for the control thread, which does it without the lock.
  void Later(Action action) { later_.push_back(std::move(action)); }
  std::vector<Action> TakeLater() { return std::exchange(later_, {}); }
  bool HasLater() const { return !later_.empty(); }
  // The control thread has something to do.
  void Wake();
  // Frees the lock until Wake was called or the time is over.
  void AwaitWake(Lock* lock, std::chrono::milliseconds limit);
  // A job has a new version, or is gone.
  void NotifyChanged() { changed_.notify_all(); }
  void NotifyLogGrown() { log_grown_.notify_all(); }
  // Free the lock until the condition holds; false when it does not within the limit.
  bool AwaitChange(Lock* lock, std::chrono::milliseconds limit, const std::function<bool()>& holds);
  bool AwaitLog(Lock* lock, std::chrono::milliseconds limit, const std::function<bool()>& holds);

  bool is_started() const { return started_; }
  void SetStarted();
  bool is_stopping() const { return stopping_; }
  // Monotonic; 0 while it does not stop.
  std::int64_t stopping_ns() const { return stopping_ns_; }
  // Interrupts what runs and sends watchers away.
  void BeginStop();

 private:
  const ControllerParts parts_;
  std::mutex mutex_;                 // Guards what follows.
  std::condition_variable wake_;     // The control thread has something to do.
  std::condition_variable changed_;  // A job has a new version, or all is over.
  std::condition_variable log_grown_;
  place::JobQueue queue_;
  std::set<std::int64_t> active_;
  std::vector<Action> later_;
  std::optional<base::Error> store_error_;
  std::string quota_error_;
  std::int64_t stopping_ns_ = 0;
  bool attention_ = false;
  bool started_ = false;
  bool stopping_ = false;
  JobTable table_;  // Calls back when something was stored, so it ends first.
};

}  // namespace eidolon::controller::embedded
