// The thread that brings work also does it, and `running_` is the lock: whoever sets it alone uses
// the simulation and the outlets, and drains the queue before the flag is cleared. A session's
// thread gives up after a few rounds and hands over to the own thread, or one agent would work for
// all others. Outlets are flushed after a whole batch, so an agent gets what belongs together in
// one message. Deadlocks are looked for by polling, because nothing happens any more then.
#include "services/network/serving/cluster_thread.h"

#include <chrono>
#include <future>
#include <limits>
#include <utility>

#include "services/base/log.h"
#include "services/network/serving/metrics.h"

namespace eidolon::network::serving {
namespace {

// Sessions that are ahead by more wait: their agents see it as a slow stream.
constexpr std::size_t kQueueMax = 1 << 16;
constexpr std::chrono::milliseconds kDeadlockPoll(100);
// So long a session's thread works for others.
constexpr int kRoundsOfASession = 16;

}  // namespace

ClusterThread::ClusterThread(topology::Topology topology, Metrics& metrics,
                             const base::RealClock& clock)
    : metrics_(metrics),
      clock_(clock),
      simulation_(std::move(topology), *this),
      thread_([this] { Run(); }) {}

ClusterThread::~ClusterThread() {
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  called_.notify_one();
  thread_.join();
}

void ClusterThread::Put(Task task) {
  std::unique_lock lock(queue_mutex_);
  drained_.wait(lock, [this] { return queue_.size() < kQueueMax || stopping_; });
  queue_.push_back(std::move(task));
  metrics_.queue_messages().Increment();
  if (running_) return;
  running_ = true;
  RunQueued(lock, kRoundsOfASession);
}

void ClusterThread::HandOver(Task task) {
  const std::lock_guard lock(queue_mutex_);
  queue_.push_back(std::move(task));
  metrics_.queue_messages().Increment();
  if (running_) return;
  running_ = true;
  handed_over_ = true;
  called_.notify_one();
}

void ClusterThread::RunQueued(std::unique_lock<std::mutex>& lock, int rounds) {
  std::vector<Task> tasks;
  do {
    if (rounds-- == 0) {
      handed_over_ = true;
      called_.notify_one();
      return;
    }
    tasks.swap(queue_);
    lock.unlock();
    drained_.notify_all();
    metrics_.queue_messages().Decrement(static_cast<double>(tasks.size()));
    RunTasks(tasks);
    lock.lock();
  } while (!queue_.empty());
  running_ = false;
  const bool stuck = stuck_since_ns_ != 0;
  if (stuck != std::exchange(stuck_, stuck) || stopping_) called_.notify_one();
}

void ClusterThread::RunTasks(std::vector<Task>& tasks) noexcept {
  for (Task& task : tasks) task();
  tasks.clear();
  simulation_.Progress();
  FlushOutlets();
  WatchForDeadlock();
  ReportMetrics();
}

void ClusterThread::Run() {
  std::unique_lock lock(queue_mutex_);
  while (true) {
    const bool polls = stuck_;
    const auto called = [&] { return handed_over_ || (stopping_ && !running_) || stuck_ != polls; };
    if (polls) {
      called_.wait_for(lock, kDeadlockPoll, called);
    } else {
      called_.wait(lock, called);
    }
    if (!handed_over_) {
      if (running_) continue;
      if (stopping_) break;
      if (!polls || !stuck_) continue;  // Only the way of waiting changes.
    }
    handed_over_ = false;
    running_ = true;
    RunQueued(lock, std::numeric_limits<int>::max());
  }
  running_ = true;
  lock.unlock();
  while (!outlets_.empty()) {
    End(outlets_.begin()->first,
        base::Fail(base::ErrorCode::kUnavailable, "the network service ends"));
  }
  ReportMetrics();
}

void ClusterThread::WatchForDeadlock() {
  if (!simulation_.Stuck()) {
    stuck_since_ns_ = 0;
    return;
  }
  if (!simulation_.WasAsked()) {
    const std::int64_t now = clock_.MonotonicNs();
    if (stuck_since_ns_ == 0) stuck_since_ns_ = now;
    if (now - stuck_since_ns_ < kDeadlockNs) return;
    simulation_.AskAgain();
    stuck_since_ns_ = 0;
  } else {
    simulation_.ReportDeadlock();
  }
  FlushOutlets();
}

void ClusterThread::ReportMetrics() {
  metrics_.Add(simulation_.statistics(), reported_, simulation_.tiers());
  if (simulation_.statistics().transfers != reported_.transfers) {
    metrics_.SetUtilisation(simulation_.statistics(), simulation_.tiers(),
                            simulation_.now().Seconds());
  }
  reported_ = simulation_.statistics();
  const auto active = static_cast<double>(simulation_.active_transfers());
  metrics_.transfers_active().Increment(active - active_reported_);
  active_reported_ = active;
  metrics_.horizon_lag().Set(simulation_.Lag().Seconds());
}

void ClusterThread::Tell(std::uint64_t job, std::uint32_t server,
                         const communicator::Notice& notice) {
  const auto found = outlets_.find({job, server});
  if (found == outlets_.end()) return;
  found->second->Send(notice);
  if (told_.empty() || told_.back() != found->second) told_.push_back(found->second);
}

void ClusterThread::FlushOutlets() {
  for (const auto& outlet : told_) outlet->Flush();
  told_.clear();
}

void ClusterThread::Ended(collective::Algorithm algorithm, collective::Protocol protocol) {
  metrics_.CountEnded(algorithm, protocol);
}

void ClusterThread::End(const SessionKey& session, const base::Result<void>& reason) {
  auto node = outlets_.extract(session);
  if (node.empty()) return;
  simulation_.Disconnect(session.first, session.second);
  node.mapped()->Close(reason);
  metrics_.sessions().Decrement();
}

void ClusterThread::AddJob(std::uint64_t job, communicator::JobPlan plan) {
  HandOver(
      [this, job, plan = std::move(plan)]() mutable { simulation_.AddJob(job, std::move(plan)); });
}

void ClusterThread::RemoveJob(std::uint64_t job) {
  Put([this, job] {
    for (auto at = outlets_.lower_bound({job, 0}); at != outlets_.end() && at->first.first == job;
         at = outlets_.lower_bound({job, 0})) {
      End(at->first, base::Fail(base::ErrorCode::kUnavailable, "the job was removed"));
    }
    simulation_.RemoveJob(job);
  });
}

bool ClusterThread::Speaks(const Speaker& speaker) const {
  const auto found = outlets_.find({speaker.job, speaker.server});
  return found != outlets_.end() && found->second == speaker.outlet;
}

void ClusterThread::Connect(Speaker speaker) {
  Put([this, speaker = std::move(speaker)] {
    if (const auto connected = simulation_.Connect(speaker.job, speaker.server); !connected) {
      speaker.outlet->Close(connected);
      return;
    }
    outlets_[{speaker.job, speaker.server}] = speaker.outlet;
    if (speaker.keeps_loads) simulation_.KeepLoads(speaker.job, speaker.server);
    metrics_.sessions().Increment();
  });
}

void ClusterThread::Submit(Speaker speaker, Work work) {
  Put([this, speaker = std::move(speaker), work = std::move(work)]() mutable {
    if (!Speaks(speaker)) return;
    const auto done = work(simulation_);
    if (done) return;
    base::Log(base::Level::kWarning, "session_refused",
              {{"server", std::to_string(speaker.server)}, {"reason", done.error().message}});
    End({speaker.job, speaker.server}, done);
  });
}

void ClusterThread::Disconnect(Speaker speaker) {
  Put([this, speaker = std::move(speaker)] {
    if (Speaks(speaker)) End({speaker.job, speaker.server}, {});
  });
}

base::Result<collective::Cost> ClusterThread::Estimate(std::uint64_t job,
                                                       std::uint64_t communicator,
                                                       const communicator::Operation& operation) {
  std::promise<base::Result<collective::Cost>> promise;
  auto answer = promise.get_future();
  Put([&] { promise.set_value(simulation_.Estimate(job, communicator, operation)); });
  return answer.get();
}

std::vector<std::string> ClusterThread::ReadLinkNames(
    const std::vector<topology::LinkIndex>& links) {
  std::promise<std::vector<std::string>> promise;
  auto answer = promise.get_future();
  Put([&] {
    std::vector<std::string> names;
    for (const topology::LinkIndex link : links) names.push_back(simulation_.LinkName(link));
    promise.set_value(std::move(names));
  });
  return answer.get();
}

base::Result<simulation::LinkLoads> ClusterThread::ReadLoads(std::uint64_t job,
                                                             std::uint32_t server,
                                                             base::SimTime from, base::SimTime to) {
  std::promise<base::Result<simulation::LinkLoads>> promise;
  auto answer = promise.get_future();
  Put([&] { promise.set_value(simulation_.ReadLoads(job, server, from, to)); });
  return answer.get();
}

}  // namespace eidolon::network::serving
