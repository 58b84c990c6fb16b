// The controller: takes jobs in, starts them in turn, follows their agents, keeps and shows what
// came out.
//
// Threads: HTTP and gRPC threads and the placement's call in; all state is under one lock, held for
// short times. One control thread of its own takes decisions and does everything that may block
// (starting agents, calls to other services), without the lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/active_run.h"
#include "services/controller/agent_desk.h"
#include "services/controller/agent_session.h"
#include "services/controller/job/run.h"
#include "services/controller/job_table.h"
#include "services/controller/metrics.h"
#include "services/controller/place/job_queue.h"
#include "services/controller/place/placement.h"
#include "services/controller/rest/api.h"
#include "services/controller/simulators.h"

namespace eidolon::controller {

struct ControllerOptions {
  std::string run_root;  // Where run directories are made.
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
  std::string temporary_directory;  // Goes with this program, also when it is killed; empty: none.
};

// Must outlive the controller.
struct ControllerParts {
  const base::RealClock& clock;
  place::Placement& placement;
  Simulators& simulators;
  Metrics& metrics;
  std::function<std::string()> metrics_text;
};

class Controller final : public rest::Api, public AgentDesk {
 public:
  // Reads the stored jobs; those that ran become Interrupted, those that wait are queued again.
  static base::Result<std::unique_ptr<Controller>> Open(ControllerOptions options,
                                                        ControllerParts parts,
                                                        store::DataDirectory directory,
                                                        store::JobStore store);
  ~Controller() override;

  // Starts running jobs. `address`: where agents find the gRPC service.
  void Start(const std::string& address);
  // Interrupts what runs, waits until its agents are gone. Nothing is started any more, watchers
  // are sent away. Call before the gRPC server ends.
  void Stop();

  // The side of the agents. Attach answers what to do, or why the agent is not welcome.
  base::Result<Assignment> Attach(const std::string& token,
                                  std::shared_ptr<AgentLink> link) override;
  void Detach(AgentName agent) override;
  void OnIteration(AgentName agent, const job::RankIteration& iteration) override;
  void OnProgress(AgentName agent, const job::AgentProgress& progress) override;
  void OnUsage(AgentName agent, job::ServerUsage usage) override;
  void OnLogLine(AgentName agent, store::LogEntry entry) override;
  void OnOutcome(AgentName agent, job::AgentOutcome outcome) override;

  rest::ApiResult<rest::Created> CreateJob(const std::string& name_space,
                                           const nlohmann::json& document,
                                           const std::optional<rest::IdempotencyKey>& key) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetJob(const rest::ObjectName& job) override;
  rest::ApiResult<nlohmann::json> DeleteJob(const rest::ObjectName& job) override;
  rest::ApiResult<nlohmann::json> SetSuspend(const rest::ObjectName& job, bool suspend) override;
  rest::ApiResult<rest::JobChange> AwaitChange(const rest::ObjectName& job, std::int64_t after,
                                               std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::LogPart> ReadLog(const rest::ObjectName& job, std::uint64_t offset,
                                         std::chrono::milliseconds timeout) override;
  rest::ApiResult<nlohmann::json> CreateCluster(const std::string& name_space,
                                                const nlohmann::json& document) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetCluster(const rest::ObjectName& cluster) override;
  rest::ApiResult<nlohmann::json> DeleteCluster(const rest::ObjectName& cluster) override;
  base::Result<void> CheckReady() override;
  std::string MetricsText() override { return parts_.metrics_text(); }
  void CountRequest(const std::string& method, int status) override {
    parts_.metrics.CountRequest(method, status);
  }

 private:
  using Actions = std::vector<std::function<void()>>;  // Done without the lock.

  Controller(ControllerOptions options, ControllerParts parts, JobTable table);

  void Loop();
  // Decides with the lock held; fills in what to do without it. False: everything is over.
  bool Decide(Actions* actions);
  void StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions);
  void GiveOrder(JobEntry* entry, job::Order order, Actions* actions);
  void Finish(JobEntry* entry, std::int64_t now_ns, Actions* actions);
  void RemoveExpired(std::int64_t now_ns);
  void RemoveJob(std::int64_t uid);

  // Without the lock: everything a job needs before its agents can start.
  void StartJob(std::int64_t uid);
  base::Result<std::unique_ptr<ActiveRun>> Prepare(std::int64_t uid, const job::JobSpec& spec,
                                                   const job::ClusterSpec* referenced);
  void FailStart(std::int64_t uid, std::string_view reason, const std::string& message);
  void StartAgents(std::int64_t uid, const place::PlacementRequest& request);
  void OnAgentExit(AgentName agent, std::string how);

  // With the lock held.
  ActiveRun* FindRun(AgentName agent, JobEntry** entry);
  void SetCondition(JobEntry* entry, std::string_view type, bool value, std::string_view reason,
                    const std::string& message = "");
  void PublishQueue();
  void Wake();
  rest::ApiResult<JobEntry*> Get(const rest::ObjectName& job);
  rest::ApiResult<std::optional<rest::Created>> FindRepeated(const std::string& name_space,
                                                             const rest::IdempotencyKey& key);
  void CheckCluster(const std::string& name_space, const job::ParsedJob& parsed,
                    const job::KnownGpus& gpus, job::Problems* problems);

  const ControllerOptions options_;
  const ControllerParts parts_;
  std::string address_;
  std::thread thread_;

  std::mutex mutex_;                 // Guards what follows.
  std::condition_variable wake_;     // The control thread has something to do.
  std::condition_variable changed_;  // A job has a new version, or all is over.
  std::condition_variable log_grown_;
  JobTable table_;
  place::JobQueue queue_;
  std::set<std::int64_t> active_;  // Jobs with an ActiveRun.
  std::int64_t expiry_checked_ns_ = 0;
  bool attention_ = false;
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace eidolon::controller
