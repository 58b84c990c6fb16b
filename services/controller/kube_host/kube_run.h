// A job that has agents, in the memory of the controller that leads: who is connected, the state
// machine of the run, and what the status shows of it. Another controller cannot take it over: it
// begins the job again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/agents/agent_link.h"
#include "services/controller/job/resolve.h"
#include "services/controller/job/run.h"
#include "services/controller/job/status.h"
#include "services/controller/kube/resource.h"
#include "services/controller/outputs/run_outputs.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::kube_host {

// Guarded by the controller's lock.
struct KubeRun {
  std::int64_t handle = 0;  // Names it in AgentName.
  kube::ObjectKey key;
  std::string uid;  // Of the SimulationJob.
  std::uint32_t attempt = 1;
  job::ResolvedJob resolved;
  std::vector<std::uint32_t> agent_servers;  // Of `resolved`.
  std::string network_job;  // Name at the network service; unguessable, so only our agents know it.
  std::shared_ptr<simulators::Simulators> simulators;
  double peak_flops = 0;

  bool placed = false;
  bool placement_seen = false;                      // Since then, among the observed objects.
  std::string placed_uid;                           // Of that Job.
  bool removed = false;                             // By us.
  bool pod_ended = false;                           // One of its pods, before any was taken away.
  std::optional<reconcile::Disruption> disruption;  // The first one.
  reconcile::PodRefusal refusal;                    // As the API server said last.
  std::int64_t asked_ns = 0;                        // When it was asked.
  std::int64_t admitted_ns = 0;                     // Monotonic.
  std::map<std::uint32_t, std::shared_ptr<agents::AgentLink>> links;
  std::string master_address;   // Of server 0; empty: not known yet.
  std::optional<job::Run> run;  // From the moment that all agents are there.
  nlohmann::json recorded_job;  // What its recording says of it; null: it leaves none.
  // What its agents send; null: the job wants none of it.
  std::shared_ptr<outputs::RunOutputs> outputs;
  std::uint64_t output_bytes_max = 0;  // Of each file.
  std::string rest_address;            // Of this controller, for the others.
  // Files that are kept of it, once the run is over.
  std::optional<outputs::RunOutputs::Kept> kept;
  std::string start_time;
  bool dropped = false;
  std::int64_t status_written_ns = 0;

  // Begins to run when every agent is connected and the first one's address is known.
  void Assemble(std::int64_t now_ns, const std::string& now);
  // Its outputs are to be kept before it is judged.
  bool AwaitsOutputs() const { return run && run->IsOver() && outputs != nullptr && !kept; }
  // Returns what was run and what was predicted, for its recording. Requires: the run is over.
  std::string Recorded(std::int64_t now_ns);
  // Remembers what took a pod away: the pod itself is soon gone.
  void NotePod(const nlohmann::json& pod);
  reconcile::RunFacts Facts(std::int64_t now_ns);
  agents::Assignment MakeAssignment(std::uint32_t server) const;
  // Returns progress, prediction with its diagnosis, and cost. Requires: `run` is set.
  job::JobStatus Status(std::int64_t now_ns);
};

}  // namespace eidolon::controller::kube_host
