// How jobs start in embedded mode: resolved against their cluster, registered at the network
// service, given a run directory and a log; the start is stored; then the agents start.
//
// Threads: the control thread, without the lock of the state; the placement reports the exits of
// agents on threads of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/controller/embedded/active_run.h"
#include "services/controller/embedded/agent_sessions.h"
#include "services/controller/embedded/controller_state.h"
#include "services/controller/embedded/job_ender.h"
#include "services/controller/place/placement.h"

namespace eidolon::controller::embedded {

class JobStarter {
 public:
  // All must outlive it. `agents` learns of agents that exit.
  JobStarter(const ControllerOptions& options, ControllerState* state, AgentSessions* agents,
             JobEnder* ender)
      : options_(options), state_(*state), agents_(*agents), ender_(*ender) {}

  // Sets the address at which agents find the gRPC service. Call once, before the first start.
  void SetAddress(const std::string& address) { address_ = address; }
  // Starts the job, or ends it with the reason why it cannot start. Requires: it was taken from
  // the queue and `starting` is set.
  void Start(std::int64_t uid);

 private:
  struct Placing;  // What has been prepared for a job while its start is being stored.

  base::Result<std::unique_ptr<ActiveRun>> Prepare(std::int64_t uid, const job::JobSpec& spec,
                                                   std::span<const folding::Dimension> dimensions,
                                                   const job::ClusterSpec* referenced) const;
  place::PlacementRequest RequestOf(std::int64_t uid, const ActiveRun& active);
  // Requires: the lock.
  void OnPlaced(JobEntry* entry, Placing* placing);
  void StartAgents(std::int64_t uid, const place::PlacementRequest& request);
  void Fail(std::int64_t uid, std::string_view reason, const std::string& message);

  const ControllerOptions& options_;
  ControllerState& state_;
  AgentSessions& agents_;
  JobEnder& ender_;
  std::string address_;
};

}  // namespace eidolon::controller::embedded
