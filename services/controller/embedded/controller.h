// The controller: takes jobs in, starts them in turn, follows their agents, keeps and shows what
// came out.
//
// Threads: HTTP and gRPC threads and the placement's call in; all state is under one lock, held for
// short times. One control thread of its own takes decisions and does everything that may block
// (starting agents, calls to other services), without the lock. The store has a thread as well,
// which takes the lock when something was stored; nobody waits for the disk with the lock held.
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
#include <string_view>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/agents/agent_handler.h"
#include "services/controller/agents/agent_session.h"
#include "services/controller/embedded/active_run.h"
#include "services/controller/embedded/job_table.h"
#include "services/controller/job/run.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/place/job_queue.h"
#include "services/controller/place/placement.h"
#include "services/controller/rest/api.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::embedded {

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
  simulators::Simulators& simulators;
  metrics::Metrics& metrics;
  std::function<std::string()> metrics_text;
};

class Controller final : public rest::Api, public agents::AgentHandler {
 public:
  // Reads the stored jobs; those that ran become Interrupted, those that wait are queued again.
  static base::Result<std::unique_ptr<Controller>> Open(ControllerOptions options,
                                                        ControllerParts parts,
                                                        store::DataDirectory directory,
                                                        store::JobStore store);
  ~Controller() override;

  // Starts running jobs. `address`: where agents find the gRPC service.
  void Start(const std::string& address);
  // Interrupts what runs, waits until its agents are gone and what came of them is stored, the
  // latter for a bounded time: the error tells what is lost. Nothing is started any more, watchers
  // are sent away. Call before the gRPC server ends. A second call does nothing.
  base::Result<void> Stop();

  // The side of the agents. Attach answers what to do, or why the agent is not welcome.
  base::Result<agents::Assignment> Attach(const std::string& token,
                                          std::shared_ptr<agents::AgentLink> link) override;
  void Detach(agents::AgentName agent) override;
  void OnIteration(agents::AgentName agent, const job::RankIteration& iteration) override;
  void OnProgress(agents::AgentName agent, const job::AgentProgress& progress) override;
  void OnUsage(agents::AgentName agent, job::ServerUsage usage) override;
  void OnLogLine(agents::AgentName agent, store::LogEntry entry) override;
  void OnOutcome(agents::AgentName agent, job::AgentOutcome outcome) override;

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
  std::string MetricsText() override;
  void CountRefusal(const std::string& reason) override { parts_.metrics.CountRefusal(reason); }
  void SetConnections(std::size_t count) override { parts_.metrics.SetConnections(count); }
  void CountRequest(const std::string& method, int status) override {
    parts_.metrics.CountRequest(method, status);
  }

 private:
  using Actions = std::vector<std::function<void()>>;  // Done without the lock.

  struct Placing;  // What has been prepared for a job while its start is being stored.
  // A request to create a job that is being stored.
  struct Creating {
    std::string body_digest;
    std::shared_ptr<store::Ticket> ticket;
    std::shared_ptr<rest::ApiResult<rest::Created>> answer;
  };

  Controller(ControllerOptions options, ControllerParts parts, store::DataDirectory directory);

  void Loop();
  // Decides with the lock held; fills in what to do without it. False: everything is over.
  bool Decide(Actions* actions);
  void StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions);
  void GiveOrder(JobEntry* entry, job::Order order, Actions* actions);
  void Finish(JobEntry* entry, Actions* actions);
  // Without the lock: keeps what the run leaves behind, and judges it.
  void Conclude(std::int64_t uid, ActiveRun* run);
  // Stores how a job has ended; it is over when that is done.
  void End(JobEntry* entry, const job::JobStatus& status, const job::Verdict& verdict);
  void RemoveExpired(std::int64_t now_ns);
  // Without the lock: folders and processes of controllers that were killed.
  void RemoveLeftBehind() const;
  // The job is gone when that is stored.
  void RemoveJob(JobEntry* entry);
  // Tells metrics, and jobs that wait for it, how the store is.
  void WatchStore(std::int64_t now_ns);
  bool HasUnfinished(std::int64_t now_ns);

  // Without the lock: everything a job needs before its agents can start.
  void StartJob(std::int64_t uid);
  base::Result<std::unique_ptr<ActiveRun>> Prepare(std::int64_t uid, const job::JobSpec& spec,
                                                   const job::ClusterSpec* referenced);
  void OnPlaced(JobEntry* entry, Placing* placing);
  // Back to the jobs that wait, unless the start is being stored at this moment.
  bool TakeBackStart(JobEntry* entry);
  void FailStart(std::int64_t uid, std::string_view reason, const std::string& message);
  void StartAgents(std::int64_t uid, const place::PlacementRequest& request);
  void OnAgentExit(agents::AgentName agent, std::string how);

  // With the lock held.
  ActiveRun* FindRun(agents::AgentName agent, JobEntry** entry);
  void SetCondition(JobEntry* entry, std::string_view type, bool value, std::string_view reason,
                    const std::string& message = "");
  void PublishQueue();
  void Accept(JobEntry* entry);
  void Wake();
  rest::ApiResult<JobEntry*> Get(const rest::ObjectName& job);
  // Frees the lock, and waits until what was asked of the store is done.
  rest::ApiResult<void> AwaitStored(std::unique_lock<std::mutex>* lock,
                                    const JobTable::Asked& asked);
  std::unexpected<rest::ApiError> RefuseOfStore(const base::Error& error);
  // The answer to an earlier request with this key, which may have to be waited for.
  std::optional<rest::ApiResult<rest::Created>> FindRepeated(std::unique_lock<std::mutex>* lock,
                                                             const std::string& name_space,
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
  std::set<std::int64_t> active_;                                     // Jobs with an ActiveRun.
  Actions later_;                                                     // For the control thread.
  std::map<std::pair<std::string, std::string>, Creating> creating_;  // By namespace and key.
  std::optional<base::Error> store_error_;                            // As the queue shows it.
  std::int64_t expiry_checked_ns_ = 0;
  std::int64_t left_behind_checked_ns_ = 0;
  std::int64_t stopping_ns_ = 0;
  bool attention_ = false;
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace eidolon::controller::embedded
