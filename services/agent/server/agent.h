// One emulated server: runs the user's command with the shim, gives its ranks time, reports to the
// controller. One object, one run.
//
// Threads: Run is the main loop and owns everything; the listener, the command's reader and the
// readers of three gRPC streams only post tasks. RequestStop may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/agent/client/controller_client.h"
#include "services/agent/client/mailbox.h"
#include "services/agent/client/network_client.h"
#include "services/agent/client/timing_client.h"
#include "services/agent/clock/horizon.h"
#include "services/agent/clock/quiescence.h"
#include "services/agent/clock/value_impasse.h"
#include "services/agent/cost/cost_cache.h"
#include "services/agent/launch/command.h"
#include "services/agent/launch/host_memory.h"
#include "services/agent/outcome/verdict.h"
#include "services/agent/rendezvous/store_server.h"
#include "services/agent/ring/host_cost_file.h"
#include "services/agent/ring/server_page.h"
#include "services/agent/server/cost_questions.h"
#include "services/agent/server/deaths.h"
#include "services/agent/server/gpu_metrics.h"
#include "services/agent/server/job_parts.h"
#include "services/agent/server/metrics.h"
#include "services/agent/server/network_time.h"
#include "services/agent/server/process_listener.h"
#include "services/agent/server/process_watch.h"
#include "services/agent/server/processes.h"
#include "services/agent/server/recorded_ranks.h"
#include "services/agent/server/reports.h"
#include "services/agent/server/sleep_table.h"
#include "services/agent/server/timeline_file.h"
#include "services/agent/session/session_host.h"
#include "services/agent/timeline/link_loads.h"
#include "services/base/clock.h"

namespace eidolon::agent::server {

class Agent final : public session::SessionHost, private launch::CommandObserver {
 public:
  struct Options {
    std::string controller_address;
    std::string token;
    std::string library_folder;  // Where libeidolon_shim.so and eidolon/ are.
    bool print_lines = false;    // Print what the command prints, where nobody else keeps it.
    // Time for which a service is tried whose name does not resolve or that refuses connections.
    // The timing service may be away for so long at any time: it keeps nothing of a job.
    std::chrono::milliseconds patience{30'000};
  };
  Agent(Options options, Metrics* metrics, const base::RealClock* clock);
  ~Agent() override;

  // Serves one job to its end. Returns the process's exit status: 0 when the controller got an
  // outcome.
  int Run();
  // Asks for an orderly end.
  void RequestStop(const std::string& reason);

 private:
  // agent.cc: set-up, loop, end, the command and its lines.
  base::Result<void> SetUp();
  base::Result<void> OpenNetwork();
  base::Result<void> MakeHostCosts();
  base::Result<void> StartStore();
  base::Result<void> StartCommand();
  base::Result<void> StartReplay();
  void Loop();
  bool RunTasks();  // Those of the mailbox; whether there were any.
  bool Step();
  void Housekeeping();
  void Judge(const std::optional<launch::ExitStatus>& command);
  void End(const outcome::Ending& ending);
  void CleanUp();
  void AskForLinkLoads();
  void SendOutcome();

  void Line(launch::OutputStream stream, std::string text) override;
  void Exited(launch::ExitStatus status) override;
  void OnLine(launch::OutputStream stream, const std::string& text);
  void MatchLine(const std::string& text);
  clock::Look LookAtProcesses();

  // agent_network.cc: what processes and the network tell, and what follows.
  void OnHello(int connection, const ::eidolon::ring::Hello& hello);
  void OnVirtualSleep(int connection, const ::eidolon::ring::VirtualSleep& virtual_sleep);
  void OnHangUp(int connection);
  void Leave(int connection);
  void SettleLeaving();
  bool AdvanceReplay();
  bool DrainSessions();
  void SettleVirtualSleeps(base::SimTime latest);
  void EndDamaged(const session::Session& session, const base::Error& damage);
  void RanksChanged();
  void CountMissing();
  void OnNetworkMessage(const network::v1::SessionResponse& message);
  void OnCommitted(const network::v1::SessionResponse& message);
  void OnSafeThrough(base::SimTime time, bool released);
  bool HasNews();
  bool IsAboutToEnd() const;
  void SendHorizon();
  // Returns the bounds of GPUs that belong to communicators.
  std::vector<OwnBound> OwnBounds();
  void BreakImpasse();
  void ServiceLost(const base::Error& error);

  // Returns what sessions ask of their server.
  cost::CostCache& costs() override { return *costs_; }
  clock::Horizon& horizon() override { return horizon_; }
  void SendToNetwork(network::v1::SessionRequest request) override;
  std::optional<CollectiveEstimate> FindEstimate(std::uint64_t communicator,
                                                 const network::v1::Operation& op) override;
  base::SimTime ClampReady(base::SimTime ready) override { return time_.ClampReady(ready); }
  base::SimTime safe_through() const override { return time_.safe_through(); }
  ::eidolon::ring::DeviceSensors SensorsOf(std::uint16_t device,
                                           std::optional<base::SimTime> time) const override;
  std::int64_t now_ns() const override { return clock_->MonotonicNs(); }
  std::uint64_t NewRequest(std::uint32_t process) override;
  std::int32_t CommunicatorEntered(std::uint32_t process, const CommunicatorEntry& entry) override;
  void WorkBegan(session::Session& session, std::uint32_t device) override;
  void IterationEnded(session::Session& session, const iteration::Report& report) override;
  void RequestRefused(session::Session& session) override;
  void CallRefused(session::Session& session, const std::string& name) override;

  Options options_;
  Metrics* metrics_;
  const base::RealClock* clock_;
  client::Mailbox mailbox_;
  std::optional<ring::ServerPage> page_;
  std::optional<ring::HostCostFile> host_costs_;  // With the measured host model.
  std::atomic<bool> page_ready_ = false;          // page_ is set and stays.
  std::unique_ptr<client::ControllerClient> controller_;
  std::unique_ptr<JobParts> job_;  // The assignment and what follows from it.
  std::unique_ptr<client::TimingClient> timing_;
  std::unique_ptr<client::NetworkClient> network_;
  std::vector<timeline::LinkLoad> link_loads_;
  LinkNames link_names_;
  std::unique_ptr<cost::CostCache> costs_;
  std::optional<CostQuestions> questions_;
  std::unique_ptr<ProcessListener> process_listener_;
  std::unique_ptr<rendezvous::StoreServer> store_;  // Of a folded job, on its first server.
  std::unique_ptr<launch::Command> command_;
  std::unique_ptr<RecordedRanks> replay_;      // Instead of a command.
  std::atomic<bool> was_told_to_end_ = false;  // Written here, read where its lines come in.

  // Once there is an assignment.
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<Deaths> deaths_;
  std::unique_ptr<Reports> reports_;
  std::optional<GpuMetrics> gpu_metrics_;
  bool world_met_ = false;  // Every rank of the job is in one communicator.
  SleepTable virtual_sleeps_;
  std::vector<std::uint32_t> leaving_;  // Their last records wait for costs.
  std::map<int, ::eidolon::ring::VirtualSleep>
      new_virtual_sleeps_;  // By connection; they begin after the next drain.
  std::optional<launch::ExitStatus> command_status_;
  std::int64_t command_ended_ns_ = 0;
  outcome::Verdict verdict_;
  std::optional<launch::HostMemory> memory_before_;  // The command was started.

  clock::Horizon horizon_;
  clock::Quiescence quiescence_;
  clock::ValueImpasse impasse_;
  ProcessWatch watch_;
  bool active_ = false;  // Something happened that says that the job is not asleep.
  std::uint64_t processed_ = 0;
  NetworkTime time_;
  HorizonClaims claims_;
  std::map<std::uint64_t, std::uint32_t> requests_;  // Join or Split to process number.
  std::uint64_t next_request_ = 1;

  std::optional<outcome::Ending> ending_;
  bool controller_gone_ = false;
  std::int64_t next_report_ns_ = 0;
  std::int64_t next_usage_ns_ = 0;
};

}  // namespace eidolon::agent::server
