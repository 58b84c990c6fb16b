// Plans the controller's actions on Kubernetes, as pure functions: from what is there to what
// should be there. No API server, no clock, no sockets: the caller observes, and carries the plan
// out. The same observation gives the same plan, and a plan that was carried out leads to an empty
// one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/job/found_classes.h"
#include "services/controller/job/resolve.h"
#include "services/controller/job/run.h"
#include "services/controller/reconcile/pod_refusal.h"
#include "services/controller/reconcile/pod_state.h"

namespace eidolon::controller::reconcile {

inline constexpr char kAttemptAnnotation[] = "eidolon.dev/attempt";
inline constexpr char kJobLabel[] = "eidolon.dev/simulation-job";
inline constexpr char kClusterLabel[] = "eidolon.dev/simulated-cluster";
inline constexpr char kManagerName[] = "eidolon.dev/controller";
inline constexpr char kTokenAudience[] = "agents.eidolon.dev";
inline constexpr char kCodeFolder[] = "/eidolon/code";
inline constexpr char kRunFolder[] = "/eidolon/run";
inline constexpr int kNetworkPort = 7403;

// Settings of the controller's installation.
struct Settings {
  std::string services_image;   // Holds the network service.
  std::string injection_image;  // Holds shim and agent.
  std::string pull_policy = "IfNotPresent";
  std::vector<std::string> pull_secrets;
  std::string agents_address;  // host:port of this controller, for agents.
  std::string token_key;       // Public key of the tokens that network services ask for.
  // Let agents and controller alone reach network services: the namespace of the controller's own
  // pods; empty: make no such policies.
  std::string policy_namespace;
  std::uint64_t cpu_millis_per_rank = 500;
  std::uint64_t memory_bytes_per_rank = std::uint64_t{2} << 30;
  // Limit of pods whose job sets nothing else; 0: no limit.
  std::uint64_t cpu_limit_millis_per_rank = 0;
  std::uint64_t memory_limit_bytes_per_rank = std::uint64_t{32} << 30;
  // Resources as in a container.
  nlohmann::json injection_resources = {
      {"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}},
      {"limits", {{"cpu", "1"}, {"memory", "256Mi"}}},
  };
  nlohmann::json network_resources = {
      {"requests", {{"cpu", "50m"}, {"memory", "64Mi"}}},
      {"limits", {{"cpu", "4"}, {"memory", "4Gi"}}},
  };
  // Fields of the network services' pods that say where they run, such as nodeSelector.
  nlohmann::json network_placement = nlohmann::json::object();
  bool pod_templates_allowed = true;
};

// Facts in the controller's memory about a job that has agents.
struct RunFacts {
  std::uint32_t attempt = 1;
  bool placed = false;     // Its Job was created.
  bool seen = false;       // And was observed since.
  bool assembled = false;  // All agents are connected; the command runs.
  bool ending = false;
  std::int64_t admitted_s = 0;           // How long ago it was admitted.
  PodRefusal refusal;                    // What the API server has against its pods.
  std::optional<Disruption> disruption;  // What took the first pod away.
  std::string stop_reason;
  std::optional<job::Verdict> verdict;
  std::vector<folding::Dimension> ranks_differ_by;  // Of a folded job that is judged so.
  std::vector<std::string> warnings;                // About what it has measured; with the verdict.
  // Parts of the status, as job::ToJson gives them: progress, prediction, simulation, startTime;
  // and timeline and recording: how large they are, and which controller has them.
  nlohmann::json parts = nlohmann::json::object();
};

// Admission of a job: whether it may start; if not, how long the queue is.
struct Admission {
  bool granted = true;
  std::size_t before = 0;
  std::size_t running = 0;
};

struct ObservedJob {
  nlohmann::json job;                     // The SimulationJob.
  std::optional<nlohmann::json> cluster;  // The SimulatedCluster it refers to.
  std::optional<nlohmann::json> network;  // Deployment of the network service it needs.
  std::optional<nlohmann::json> placed;   // Its batch Job.
  std::vector<nlohmann::json> pods;
  std::string refused;  // Why the API server did not take the network service of the last plan.
  std::optional<RunFacts> run;
  std::optional<std::vector<std::string>> gpus;  // Known models; nothing: nobody can say now.
  Admission admission;
  std::int64_t now_unix_ns = 0;
};

enum class RunStep {
  kNone,
  kStart,  // Make a run in memory, tell the network service.
  kDrop,   // Forget the run, let its agents go.
};

struct Deletion {
  std::string api_version, kind, name, uid;
  bool in_background = false;  // Its children may outlast it: their node does not answer.
};

// A pod that is gone or has ended: what its agent's end looked like.
struct AgentExit {
  std::uint32_t server = 0;
  std::string how;
  std::string memory_kill;  // As in PodState.
};

struct Transition {
  std::string reason;
  std::string message;
  bool warning = false;
};

struct Plan {
  std::vector<nlohmann::json> apply;     // Whole objects, by server-side apply.
  std::vector<Deletion> remove;          // With their children.
  std::optional<nlohmann::json> status;  // The whole status; nothing: it is right.
  std::vector<Transition> events;
  RunStep run = RunStep::kNone;
  // Attempt and accepted spec of a run to start, so that they are not looked up again.
  std::uint32_t attempt = 0;
  job::ResolvedJob resolved;
  std::vector<AgentExit> exits;
  bool remove_itself = false;                // Its time after the end is over.
  std::optional<std::int64_t> look_again_s;  // Even when nothing changes.
};

Plan ReconcileJob(const ObservedJob& observed, const Settings& settings);

struct ObservedCluster {
  nlohmann::json cluster;
  std::optional<nlohmann::json> network;
  std::string refused;  // Why the API server did not take what the last plan applied.
  std::optional<std::vector<std::string>> gpus;
  std::int64_t now_unix_ns = 0;
};

Plan ReconcileCluster(const ObservedCluster& observed, const Settings& settings);

// The document of an object as the validator knows it: without what the API server keeps in
// metadata.
nlohmann::json DocumentOf(const nlohmann::json& object);

}  // namespace eidolon::controller::reconcile
