// One run of a job, from the start of its agents to the verdict: a state machine fed with what
// agents do and with the time. It decides when to end the command and what the job is judged as; it
// starts, sends and stores nothing.
//
//   starting --all connected--> running --measured, failed, cancelled--> ending --all gone--> over
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/controller/job/class_check.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/measurement.h"
#include "services/controller/job/resolve.h"
#include "services/controller/job/status.h"

namespace eidolon::controller::job {

// End of an agent's share, as it reports it.
enum class OutcomeReason {
  kCompleted,  // The command ended with status 0.
  kStopped,    // Asked to end, for the reason that its message tells.
  kCommandFailed,
  kOutOfMemory,
  kDeadlock,
  kRankLost,
  kUnsupportedCall,
  kServiceLost,
  kCollectiveMismatch,
  kRingDamaged,
  kPeerLost,  // Another server's ranks have gone.
  kSessionLost,
  kRanksDiffer,  // Of a folded job: ranks of one class are not alike.
  kOutOfHostMemory,
};

// Progress that an agent reports from time to time.
struct AgentProgress {
  std::uint64_t virtual_ps = 0;
  std::uint64_t launches = 0;
  std::int64_t still_ns = 0;  // For how long nothing of its server has moved.
  bool is_stopped = false;    // Some process of it is stopped.
  std::string witness;        // What its processes were last seen doing.
};

struct AgentOutcome {
  OutcomeReason reason = OutcomeReason::kCompleted;
  std::string message;
  std::int32_t exit_status = 0;
  std::vector<folding::Dimension> ranks_differ_by;  // kRanksDiffer.
};

struct Verdict {
  Phase phase = Phase::kFailed;
  std::string reason;
  std::string message;
};

struct RunOptions {
  std::uint32_t servers = 1;
  std::vector<std::uint32_t> agents;  // Servers that have one; empty: all.
  MeasurementOptions measurement;
  folding::Fold fold;
  std::uint64_t wall_seconds_max = 0;   // Since the admission; 0: no limit.
  std::uint64_t still_seconds_max = 0;  // Without anything that moves; 0: no limit.
  // Limit from the end of an agent's work, or from the order to kill it, to the end of its process;
  // 0: no limit.
  std::uint64_t exit_seconds_max = 0;
  // The job says where iterations begin; it is not judged by anything else then.
  bool names_boundary = false;
  std::int64_t admitted_before_ns = 0;  // How long before the run the job was admitted.
};

// Those of a job. `peak_flops_per_gpu`: 0 when it is not known.
RunOptions RunOptionsOf(const ResolvedJob& resolved, double peak_flops_per_gpu);

// How long agents have to follow an order before the next, sterner one is given; after both nothing
// of them is left. Whatever else waits for agents to end derives its limits from these.
inline constexpr std::int64_t kStopGraceSeconds = 15;
inline constexpr std::int64_t kTerminateGraceSeconds = 5;
inline constexpr std::int64_t kEndGraceSeconds = kStopGraceSeconds + kTerminateGraceSeconds;
// How long a local agent's process may outlive its work, or SIGKILL: its guardian takes at most ten
// seconds to end what the job has left.
inline constexpr std::uint64_t kExitSeconds = 15;

// Next order of the owner for all agents, gentlest first.
enum class Order {
  kNone,
  kStop,       // By message.
  kTerminate,  // By signal, what did not listen.
  kKill,       // At once.
};

// Times are monotonic nanoseconds. Not thread safe.
class Run {
 public:
  Run(RunOptions options, std::int64_t now_ns);

  void Connected(std::uint32_t server);
  // The stream ended; without an outcome before it, the agent is as good as lost.
  void Disconnected(std::uint32_t server, std::int64_t now_ns);
  // `how`: "was killed by signal 9 (Killed)"; further sentences may follow. While the stream is
  // open, the agent's last messages are waited for.
  void Exited(std::uint32_t server, const std::string& how, std::int64_t now_ns);
  // Called before Exited: the kernel killed the agent for lack of host memory, as `message` says.
  // What the agent itself has told counts more.
  void NoteMemoryKill(std::uint32_t server, const std::string& message);
  void Add(const RankIteration& iteration, std::int64_t now_ns);
  void SetProgress(std::uint32_t server, AgentProgress progress);
  // `stopped`: "(pid 7, eidolon-guard) is stopped (state T)"; empty while the guardian runs.
  void SetGuardian(std::uint32_t server, std::string stopped);
  void SetUsage(std::uint32_t server, ServerUsage usage);
  // A line of the command's output. It ends the silence of the server's agent.
  void NoteLogLine(std::uint32_t server, const std::string& line);
  void SetOutcome(std::uint32_t server, AgentOutcome outcome, std::int64_t now_ns);
  // Ends the run with a failure, or as interrupted, found outside of the agents.
  void Fail(std::string_view reason, const std::string& message, std::int64_t now_ns);
  void Interrupt(std::string_view reason, const std::string& message, std::int64_t now_ns);

  // Looks at the time; gives each order once.
  Order Step(std::int64_t now_ns);
  // Returns why the agents are being ended; empty while they are not.
  const std::string& stop_reason() const { return stop_reason_; }
  bool IsRunning() const;  // All agents connected and not ending.
  bool IsEnding() const { return ending_ns_.has_value(); }
  bool IsOver() const;  // No agent is left.
  // Agents that do nothing, or do not exit: their guardians may be stopped.
  std::vector<std::uint32_t> Suspects() const;

  // Requires: IsOver().
  Verdict Judge();
  // Returns by what ranks of one class differ when the verdict is that they do.
  const std::vector<folding::Dimension>& ranks_differ_by() const { return ranks_differ_by_; }
  Progress progress(std::int64_t now_ns) const;
  Prediction Predict() const { return measurement_.Predict(); }
  SimulationCost cost(std::int64_t now_ns) const;

 private:
  struct Exit {
    std::string how;
    std::int64_t at_ns = 0;
  };
  struct Agent {
    bool connected = false;
    std::optional<Exit> exit;  // Of one whose stream was still open then.
    std::string memory_kill;   // As a sentence; empty: none.
    bool gone = false;         // Has exited, and nothing more is to come from it.
    std::optional<std::int64_t> disconnected_ns;
    std::optional<AgentOutcome> outcome;
    AgentProgress progress;
    std::int64_t silent_ns = 0;   // Since its last report or line.
    std::int64_t exiting_ns = 0;  // Since its outcome.
    std::string guardian;         // How it is stopped; empty: it is not.
  };
  struct Failure {
    int weight = 0;  // The smaller, the closer to the cause.
    std::string reason;
    std::string message;
    bool is_of_host = false;  // OutOfMemory of the host, not of a GPU.
  };

  void AddFailure(Failure failure, std::int64_t now_ns);
  void End(const std::string& why, std::int64_t now_ns);
  bool WasEndedByOthers(const AgentOutcome& outcome) const;
  void Leave(std::uint32_t server, const std::string& how, std::int64_t now_ns);
  void CheckTimes(std::int64_t now_ns);
  void CheckStandstill(std::int64_t step_ns, std::int64_t now_ns);
  void CheckExits(std::int64_t step_ns, std::int64_t now_ns);
  std::string Prefix(std::uint32_t server) const;
  static std::string GuardianOf(const Agent& agent, std::string_view before);
  Verdict JudgeFailure() const;
  Verdict JudgeMeasurement();
  std::string WithoutIterations() const;
  std::string Refused() const;
  std::string Missing() const;

  RunOptions options_;
  Measurement measurement_;
  ClassTimes class_times_;
  std::map<std::uint32_t, Agent> agents_;  // By server.
  std::int64_t start_ns_;
  std::int64_t last_step_ns_;
  std::int64_t end_ns_ = 0;  // When the last agent was gone; 0: not yet.
  std::int64_t first_iteration_ns_ = 0;
  std::optional<std::int64_t> ending_ns_;
  std::string stop_reason_;
  Order given_ = Order::kNone;
  bool enough_ = false;
  std::optional<Failure> failure_;
  std::vector<folding::Dimension> ranks_differ_by_;
  std::optional<Verdict> interruption_;
  std::string error_line_;
};

}  // namespace eidolon::controller::job
