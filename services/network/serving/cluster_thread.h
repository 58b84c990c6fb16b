// Owns the simulation of one cluster and runs it on one thread at a time. A session's thread that
// finds nobody running it does its own work at once, and what others queue meanwhile: an answer
// waits for no other thread to wake up. A thread of its own takes over when that goes on for long,
// and watches for deadlocks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/network/simulation/simulation.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::serving {

class Metrics;

// Receiver of one session's notices. Called by the thread that runs the simulation.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void Send(const communicator::Notice& notice) = 0;
  // All that can be sent now has been: lets it go.
  virtual void Flush() = 0;
  // Ends the session after what was sent; ok, or what the agent did wrong.
  virtual void Close(const base::Result<void>& reason) = 0;
};

// Public methods are thread safe.
class ClusterThread final : private simulation::Listener {
 public:
  // What a session does with the simulation; an error ends the session.
  using Work = std::move_only_function<base::Result<void>(simulation::Simulation&)>;

  // Everybody asleep and nothing to come: after this real time all are asked again, and when all
  // say the same it is called a deadlock.
  static constexpr std::int64_t kDeadlockNs = 3'000'000'000;

  // Metrics and clock outlive the thread.
  ClusterThread(topology::Topology topology, Metrics& metrics, const base::RealClock& clock);
  // Closes the sessions that are left.
  ~ClusterThread() override;

  // Comes before whatever is put in afterwards. Never waits and runs nothing, so the caller may
  // hold a lock.
  void AddJob(std::uint64_t job, communicator::JobPlan plan);
  // Ends the job's sessions.
  void RemoveJob(std::uint64_t job);

  // A session: who speaks, and where its notices go. The outlet tells two sessions of one server
  // apart, of which the second is refused.
  struct Speaker {
    std::uint64_t job = 0;
    std::uint32_t server = 0;
    std::shared_ptr<Outlet> outlet;
    bool keeps_loads = false;  // Connect: what crosses its links is kept.
  };
  void Connect(Speaker speaker);
  // Waits while the queue is full. Nothing happens when the session has ended. May run the
  // simulation, so the caller must hold nothing that an outlet needs.
  void Submit(Speaker speaker, Work work);
  void Disconnect(Speaker speaker);

  // The simulation's answer.
  base::Result<collective::Cost> Estimate(std::uint64_t job, std::uint64_t communicator,
                                          const communicator::Operation& operation);
  // In the order of `links`; empty: there is no such link.
  std::vector<std::string> ReadLinkNames(const std::vector<topology::LinkIndex>& links);
  base::Result<simulation::LinkLoads> ReadLoads(std::uint64_t job, std::uint32_t server,
                                                base::SimTime from, base::SimTime to);

 private:
  using Task = std::move_only_function<void()>;
  using SessionKey = std::pair<std::uint64_t, std::uint32_t>;

  void Tell(std::uint64_t job, std::uint32_t server, const communicator::Notice& notice) override;
  void Ended(collective::Algorithm algorithm, collective::Protocol protocol) override;

  void Put(Task task);
  // Leaves the task to the thread that runs the simulation; that is the own one when no other does.
  void HandOver(Task task);
  // Runs what is queued, at most so many times over; then the simulation is given up, or handed
  // over to the own thread. Requires: this thread runs the simulation, and `lock` holds the queue,
  // as it does again in the end.
  void RunQueued(std::unique_lock<std::mutex>& lock, int rounds);
  // An exception is a bug and ends the process: gRPC would swallow it and leave every session
  // waiting.
  void RunTasks(std::vector<Task>& tasks) noexcept;
  void FlushOutlets();
  // The thread's own.
  void Run();
  void End(const SessionKey& session, const base::Result<void>& reason);
  bool Speaks(const Speaker& speaker) const;
  void WatchForDeadlock();
  void ReportMetrics();

  Metrics& metrics_;
  const base::RealClock& clock_;

  // Used by the thread that runs the simulation.
  simulation::Simulation simulation_;
  std::map<SessionKey, std::shared_ptr<Outlet>> outlets_;
  std::vector<std::shared_ptr<Outlet>> told_;  // Since the last flush; may repeat.
  simulation::Statistics reported_;
  double active_reported_ = 0;
  std::int64_t stuck_since_ns_ = 0;  // 0: not stuck.

  std::mutex queue_mutex_;
  std::condition_variable called_;   // The thread has something to do.
  std::condition_variable drained_;  // The queue is empty, or nobody runs the simulation.
  std::vector<Task> queue_;
  bool running_ = false;      // Some thread runs the simulation...
  bool handed_over_ = false;  // ...and it is to be the own one.
  bool stuck_ = false;        // A deadlock may be under way.
  bool stopping_ = false;

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace eidolon::network::serving
