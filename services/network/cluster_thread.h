// The thread that owns the simulation of one cluster. Sessions put work on its queue; nothing else
// touches the simulation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/network/simulation.h"
#include "services/network/topology/topology.h"

namespace eidolon::network {

class Metrics;

// Where one session's notices go. Called by the cluster's thread.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void Send(const communicator::Notice& notice) = 0;
  // Ends the session after what was sent; ok, or what the agent did wrong.
  virtual void Close(const base::Result<void>& reason) = 0;
};

// Public methods are thread safe.
class ClusterThread final : private Listener {
 public:
  // What a session does with the simulation; an error ends the session.
  using Work = std::move_only_function<base::Result<void>(Simulation&)>;

  // Everybody asleep and nothing to come: after this real time it is called a deadlock.
  static constexpr std::int64_t kDeadlockNs = 3'000'000'000;

  // Metrics and clock outlive the thread.
  ClusterThread(topology::Topology topology, Metrics& metrics, const base::RealClock& clock);
  // Closes the sessions that are left.
  ~ClusterThread() override;

  void AddJob(std::uint64_t job, std::vector<std::uint32_t> placement, collective::Tuning tuning);
  // Ends the job's sessions.
  void RemoveJob(std::uint64_t job);

  // A session: who speaks, and where its notices go. The outlet tells two sessions of one server
  // apart, of which the second is refused.
  struct Speaker {
    std::uint64_t job = 0;
    std::uint32_t server = 0;
    std::shared_ptr<Outlet> outlet;
  };
  void Connect(Speaker speaker);
  // Waits while the queue is full. Nothing happens when the session has ended.
  void Submit(Speaker speaker, Work work);
  void Disconnect(Speaker speaker);

  // The simulation's answer, computed by its thread.
  base::Result<collective::Cost> Estimate(std::uint64_t job, std::uint64_t communicator,
                                          const communicator::Operation& operation);

 private:
  using Task = std::move_only_function<void()>;
  using SessionKey = std::pair<std::uint64_t, std::uint32_t>;

  void Tell(std::uint64_t job, std::uint32_t server, const communicator::Notice& notice) override;
  void Ended(collective::Algorithm algorithm, collective::Protocol protocol) override;

  void Put(Task task);
  void Run();
  // Takes what is queued; waits for it, at most a moment while a deadlock may be under way. False
  // when the thread shall end.
  bool Take(std::vector<Task>& tasks, bool stuck);
  void End(const SessionKey& session, const base::Result<void>& reason);
  bool Speaks(const Speaker& speaker) const;
  void WatchForDeadlock();
  void ReportMetrics();

  Metrics& metrics_;
  const base::RealClock& clock_;

  // Owned by the thread.
  Simulation simulation_;
  std::map<SessionKey, std::shared_ptr<Outlet>> outlets_;
  Statistics reported_;
  double active_reported_ = 0;
  std::int64_t stuck_since_ns_ = 0;  // 0: not stuck.

  std::mutex queue_mutex_;
  std::condition_variable filled_;
  std::condition_variable drained_;
  std::vector<Task> queue_;
  bool stopping_ = false;

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace eidolon::network
