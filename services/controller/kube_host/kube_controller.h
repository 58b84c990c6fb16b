// The controller on Kubernetes: watches jobs, clusters and their children, asks reconcile/ what to
// do, and does it; agents connect to it as they do in embedded mode. Only the leader has one.
//
// Threads: informers and gRPC threads call in; workers take one object at a time. One lock guards
// the runs and is never held during a call to another process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/agent_desk.h"
#include "services/controller/kube/client.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube/review.h"
#include "services/controller/kube/work_queue.h"
#include "services/controller/kube_host/kube_run.h"
#include "services/controller/metrics.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/simulators.h"

namespace eidolon::controller::kube_host {

struct KubeControllerOptions {
  reconcile::Settings settings;
  std::string name_space;     // Watched; empty: all.
  std::size_t jobs_max = 16;  // That have agents at a time.
  int workers = 4;
};

// Must outlive the controller.
struct KubeControllerParts {
  const base::RealClock& clock;
  kube::Client& client;
  kube::Reviews& reviews;
  Metrics& metrics;
  // Makes the way to the timing service and the network service at an address, which may be empty.
  std::function<std::shared_ptr<Simulators>(const std::string& network_address)> find_simulators;
};

class KubeController final : public AgentDesk {
 public:
  KubeController(KubeControllerOptions options, KubeControllerParts parts);
  ~KubeController() override;  // Stops.

  void Start();
  // Ends the threads; agents are let go, their jobs begin again under the next controller.
  void Stop();
  bool IsSynced() const;

  base::Result<Assignment> Attach(const std::string& token,
                                  std::shared_ptr<AgentLink> link) override;
  void Detach(AgentName agent) override;
  void OnIteration(AgentName agent, const job::RankIteration& iteration) override;
  void OnProgress(AgentName agent, const job::AgentProgress& progress) override;
  void OnUsage(AgentName agent, job::ServerUsage usage) override;
  void OnLogLine(AgentName agent, store::LogEntry entry) override;
  void OnOutcome(AgentName agent, job::AgentOutcome outcome) override;

 private:
  using Done = kube::Answer<void>;

  void Work();
  void CountRequests();
  Done Reconcile(const std::string& key);
  Done ReconcileJob(const kube::ObjectKey& key);
  Done ReconcileCluster(const kube::ObjectKey& key);
  reconcile::ObservedJob Observe(const nlohmann::json& job);
  Done Carry(const nlohmann::json& object, reconcile::Plan plan);
  Done Place(const nlohmann::json& object, const std::vector<nlohmann::json>& objects);
  Done Remove(const std::string& name_space, const reconcile::Deletion& deletion);
  Done WriteStatus(const nlohmann::json& object, const nlohmann::json& status);
  void Tell(const nlohmann::json& object, const reconcile::Transition& transition);
  Done StartRun(const nlohmann::json& object, reconcile::Plan plan);
  void DropRun(const std::string& uid);
  // Feeds the run with what happened to pods, gives its orders.
  void StepRun(const nlohmann::json& object, const std::vector<reconcile::AgentExit>& exits);
  // Turns of all jobs; those that have become free are looked at.
  // Jobs that wait or run.
  std::vector<kube::ObjectPointer> QueuedJobs() const;
  // Their turns by uid. Requires: mutex_ is held.
  std::map<std::string, reconcile::Turn> TurnsOf(const std::vector<kube::ObjectPointer>& jobs);
  reconcile::Turn TakeTurn(const nlohmann::json& job);
  // At those whose turn it is, and those that come soon.
  void LookAtWaiting();
  std::optional<std::vector<std::string>> KnownGpus();
  std::shared_ptr<Simulators> SimulatorsOf(const std::string& network_address);

  void Add(const char* kind, const nlohmann::json& object);
  void AddOwner(const nlohmann::json& object);
  // With the lock held.
  KubeRun* FindRun(AgentName agent);
  void Changed(const KubeRun& run);
  void NoteWrite(const std::string& kind, const kube::ObjectKey& key, bool done);

  const KubeControllerOptions options_;
  const KubeControllerParts parts_;
  kube::WorkQueue queue_;
  kube::Informer jobs_, clusters_, placed_, pods_, deployments_;
  std::vector<std::thread> workers_;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable assembled_;
  bool stopping_ = false;
  std::int64_t next_handle_ = 1;
  std::map<std::string, std::shared_ptr<KubeRun>> runs_;  // By uid of the job.
  std::map<std::int64_t, std::shared_ptr<KubeRun>> handles_;
  // Kind and key of objects whose status the API server has refused.
  std::set<std::pair<std::string, kube::ObjectKey>> unsaved_;
  std::uint64_t failed_writes_ = 0;
  std::set<std::string> admitted_;  // Uids of jobs that have their turn.
  std::map<std::string, std::shared_ptr<Simulators>> simulators_;
  std::vector<std::string> gpus_;
  std::int64_t gpus_asked_ns_ = 0;
  std::uint64_t requests_counted_ = 0;
};

// Key of an object in the work queue; its uid; that of its owner; whether its status says that it
// is over.
std::string TextOf(const char* kind, const kube::ObjectKey& key);
std::string UidOf(const nlohmann::json& object);
std::string OwnerUidOf(const nlohmann::json& object);
bool IsOver(const nlohmann::json& job);

}  // namespace eidolon::controller::kube_host
