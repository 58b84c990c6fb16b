// The side of agents in embedded mode: who may join a job, and what their reports do to its run.
// Thread safe; takes the lock of the state.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/controller/agents/agent_handler.h"
#include "services/controller/embedded/controller_state.h"

namespace eidolon::controller::embedded {

class AgentSessions final : public agents::AgentHandler {
 public:
  // The state must outlive it.
  explicit AgentSessions(ControllerState* state) : state_(*state) {}

  // Answers what to do, or why the agent is not welcome.
  base::Result<agents::Assignment> Attach(const std::string& token,
                                          std::shared_ptr<agents::AgentLink> link) override;
  void Detach(agents::AgentName agent) override;
  void OnIteration(agents::AgentName agent, const job::RankIteration& iteration) override;
  void OnProgress(agents::AgentName agent, const job::AgentProgress& progress) override;
  void OnUsage(agents::AgentName agent, job::ServerUsage usage) override;
  void OnLogLine(agents::AgentName agent, store::LogEntry entry) override;
  // Agents are not told to send any: their run directories are read.
  void OnOutput(agents::AgentName, const outputs::Part&) override {}
  void OnOutcome(agents::AgentName agent, job::AgentOutcome outcome) override;

  // The agent's process has ended. `how`: "was killed by signal 9 (Killed)".
  void OnExit(agents::AgentName agent, std::string how);

 private:
  // Calls with the lock, when the agent's job still runs.
  void WithRun(agents::AgentName agent, const std::function<void(JobEntry&, job::Run&)>& change);

  ControllerState& state_;
};

}  // namespace eidolon::controller::embedded
