// The controller on Kubernetes: watches jobs, clusters and their children, asks reconcile/ what to
// do, and does it; agents connect to it as they do in embedded mode. Only the leader has one.
//
// Threads: informers and gRPC threads call in; workers take one object at a time. What they share
// are the runs (run_registry.h), the places of jobs (job_admission.h), and what has been written
// (status_writer.h), each with its own lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/agents/agent_handler.h"
#include "services/controller/kube/client.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube/reviews.h"
#include "services/controller/kube/work_queue.h"
#include "services/controller/kube_host/agent_sessions.h"
#include "services/controller/kube_host/job_admission.h"
#include "services/controller/kube_host/run_registry.h"
#include "services/controller/kube_host/simulator_directory.h"
#include "services/controller/kube_host/status_writer.h"
#include "services/controller/kube_host/sweep_reconciler.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/outputs/output_store.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::kube_host {

struct KubeControllerOptions {
  reconcile::Settings settings;
  std::string name_space;     // Watched; empty: all.
  std::size_t jobs_max = 16;  // That have agents at a time.
  std::string rest_address;   // host:port of this controller, for the others.
  int workers = 4;
};

// Must outlive the controller.
struct KubeControllerParts {
  const base::RealClock& clock;
  kube::Client& client;
  kube::Reviews& reviews;
  metrics::Metrics& metrics;
  SimulatorFinder find_simulators;
  outputs::OutputStore& outputs;
};

class KubeController {
 public:
  KubeController(KubeControllerOptions options, KubeControllerParts parts);
  ~KubeController();  // Stops.
  KubeController(const KubeController&) = delete;
  KubeController& operator=(const KubeController&) = delete;

  void Start();
  // Ends the threads; agents are let go, their jobs begin again under the next controller.
  void Stop();
  bool IsSynced() const;
  // Returns what agents connect to.
  agents::AgentHandler& agents() { return agents_; }

 private:
  using Done = kube::Answer<void>;

  void Work();
  void CountRequests();
  Done Reconcile(const std::string& key);
  Done ReconcileJob(const kube::ObjectKey& key);
  Done ReconcileCluster(const kube::ObjectKey& key);
  Done ReconcileSweep(const kube::ObjectKey& key);
  // Returns what admission has against one of them, in its words; empty: nothing.
  kube::Answer<std::string> ApplyNetwork(const std::vector<nlohmann::json>& objects);
  reconcile::ObservedJob Observe(const nlohmann::json& job);
  // A place for what the job's agents will send of its timeline and its recording.
  void PrepareOutputs(const nlohmann::json& object, KubeRun* run);
  // Stores what the agents of a run have sent when it is over.
  void KeepOutputs(const std::string& uid);
  // Does what the plan says, by way of the API server.
  Done Apply(const nlohmann::json& object, reconcile::Plan plan);
  Done Place(const nlohmann::json& object, const std::vector<nlohmann::json>& objects);
  // Returns what admission has against pods of a Job, asked on trial.
  reconcile::PodRefusal TryPod(const nlohmann::json& batch);
  // Nothing is there yet of what a run needs: says why, to the run.
  void Refuse(const nlohmann::json& object, reconcile::PodRefusal refusal);
  // Returns whether it is time to ask again about a run that was refused.
  bool MayAsk(const std::string& uid);
  // Pods that do not come: the events of their Job say why.
  void LookForRefusal(const reconcile::ObservedJob& seen);
  void NotePod(const nlohmann::json& pod);
  Done Remove(const std::string& name_space, const reconcile::Deletion& deletion);
  Done StartRun(const nlohmann::json& object, reconcile::Plan plan);
  void DropRun(const std::string& uid);
  // Feeds the run with what happened to pods, gives its orders.
  void StepRun(const nlohmann::json& object, const std::vector<reconcile::AgentExit>& exits);

  void Add(const char* kind, const nlohmann::json& object);
  void AddOwner(const nlohmann::json& object);
  void AddSweep(const nlohmann::json& job);

  const KubeControllerOptions options_;
  const KubeControllerParts parts_;
  kube::WorkQueue queue_;
  RunRegistry runs_;
  kube::Informer jobs_, clusters_, sweeps_, placed_, pods_, deployments_;
  SimulatorDirectory simulators_;
  StatusWriter status_;
  SweepReconciler sweep_reconciler_;
  JobAdmission admission_;
  AgentSessions agents_;
  std::vector<std::thread> workers_;

  std::mutex counting_;  // Guards what follows.
  std::uint64_t requests_counted_ = 0;
};

}  // namespace eidolon::controller::kube_host
