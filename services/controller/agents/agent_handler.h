// Interface behind the controller's gRPC service for agents: the controller of embedded mode, or
// that of Kubernetes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/base/error.h"
#include "services/controller/agents/agent_link.h"
#include "services/controller/job/measurement.h"
#include "services/controller/job/run.h"
#include "services/controller/outputs/part.h"
#include "services/controller/store/job_log.h"

namespace eidolon::controller::agents {

// Thread safe. Calls of one agent come one after another.
class AgentHandler {
 public:
  virtual ~AgentHandler() = default;

  // Answers what to do, or why the agent is not welcome. May wait for the job's other agents.
  virtual base::Result<Assignment> Attach(const std::string& token,
                                          std::shared_ptr<AgentLink> link) = 0;
  virtual void Detach(AgentName agent) = 0;
  virtual void OnIteration(AgentName agent, const job::RankIteration& iteration) = 0;
  virtual void OnProgress(AgentName agent, const job::AgentProgress& progress) = 0;
  virtual void OnUsage(AgentName agent, job::ServerUsage usage) = 0;
  virtual void OnLogLine(AgentName agent, store::LogEntry entry) = 0;
  // Only from agents whose assignment says how much they may send. May wait for a disk.
  virtual void OnOutput(AgentName agent, const outputs::Part& part) = 0;
  virtual void OnOutcome(AgentName agent, job::AgentOutcome outcome) = 0;
};

}  // namespace eidolon::controller::agents
