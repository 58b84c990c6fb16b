// The runs of the controller that leads: jobs that have agents, or wait for them. Reconciliation
// finds them by the uid of their job, agents by a handle.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "services/controller/agents/agent_link.h"
#include "services/controller/kube_host/kube_run.h"

namespace eidolon::controller::kube_host {

// Thread safe. Its one lock guards all runs as well; whoever looks at a run holds a View, and calls
// no other process meanwhile.
class RunRegistry {
 public:
  // The runs, locked as long as it lives.
  class View {
   public:
    explicit View(RunRegistry& registry) : registry_(registry), lock_(registry.mutex_) {}

    // Null when there is none.
    std::shared_ptr<KubeRun> Find(const std::string& uid) const;
    std::shared_ptr<KubeRun> Find(agents::AgentName agent) const;
    // By the uid of its batch Job, for an object of this namespace: an object elsewhere that names
    // the uid as its owner has nothing to do with the run.
    std::shared_ptr<KubeRun> FindPlaced(const std::string& name_space,
                                        const std::string& placed_uid) const;
    bool is_closed() const { return registry_.closed_; }

    // Waits, unlocked, until something may have changed; at most `limit`.
    void Await(std::chrono::milliseconds limit);
    // Wakes all that wait.
    void Wake() { registry_.changed_.notify_all(); }
    void Unlock() { lock_.unlock(); }
    void Lock() { lock_.lock(); }

   private:
    RunRegistry& registry_;
    std::unique_lock<std::mutex> lock_;
  };

  // Gives the run its handle.
  void Add(std::shared_ptr<KubeRun> run);
  // Takes a run out and wakes those that wait for it; null when there is none.
  std::shared_ptr<KubeRun> Take(const std::string& uid);
  std::set<std::string> Uids();
  // Returns the uids of the runs of this key but for the job `uid`.
  std::vector<std::string> UidsBut(const kube::ObjectKey& key, const std::string& uid);
  // Nobody waits any more; false when that was said before.
  bool Close();

 private:
  std::mutex mutex_;  // Guards what follows, and the runs themselves.
  std::condition_variable changed_;
  bool closed_ = false;
  std::int64_t next_handle_ = 1;
  std::map<std::string, std::shared_ptr<KubeRun>> runs_;  // By uid of the job.
  std::map<std::int64_t, std::shared_ptr<KubeRun>> handles_;
};

}  // namespace eidolon::controller::kube_host
