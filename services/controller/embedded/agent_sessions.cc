// The controller's side of agents: who may join, and what their reports do.
#include <algorithm>

#include "services/base/log.h"
#include "services/controller/embedded/controller.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::Fail;
using base::Result;

Result<agents::Assignment> Controller::Attach(const std::string& token,
                                              std::shared_ptr<agents::AgentLink> link) {
  const std::lock_guard lock(mutex_);
  for (const std::int64_t uid : active_) {
    JobEntry& entry = *table_.Find(uid);
    ActiveRun& active = *entry.active;
    const auto& tokens = active.tokens();
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    if (found == tokens.end()) continue;
    const auto server = static_cast<std::uint32_t>(found - tokens.begin());
    if (active.IsAttached(server)) {
      return Fail(ErrorCode::kAlreadyExists, "another agent with this token is connected");
    }
    if (active.run().IsEnding()) {
      return Fail(ErrorCode::kFailedPrecondition, "the job is being ended");
    }
    active.Attach(server, std::move(link));
    entry.changed = true;
    parts_.metrics.AddConnectedAgents(1);
    Wake();
    return agents::Assignment{
        .agent = {uid, server},
        .job = active.parts().network_job,
        .resolved = active.parts().resolved,
        .run_directory = active.parts().directory.server_path(server),
        .timing_address = parts_.simulators.timing_address(),
        .network_address = parts_.simulators.network_address(),
        .service_token = parts_.simulators.MakeServiceToken(active.parts().network_job),
        .master_port = active.parts().master_port};
  }
  return Fail(ErrorCode::kNotFound, "no job waits for an agent with this token");
}

void Controller::Detach(agents::AgentName agent) {
  const std::lock_guard lock(mutex_);
  parts_.metrics.AddConnectedAgents(-1);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  active->Detach(agent.server);
  active->run().Disconnected(agent.server, parts_.clock.MonotonicNs());
  Wake();
}

void Controller::OnIteration(agents::AgentName agent, const job::RankIteration& iteration) {
  const std::lock_guard lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  const bool was_ending = active->run().IsEnding();
  active->run().Add(iteration, parts_.clock.MonotonicNs());
  entry->changed = true;
  if (active->run().IsEnding() != was_ending) Wake();
}

void Controller::OnProgress(agents::AgentName agent, const job::AgentProgress& progress) {
  const std::lock_guard lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  active->run().SetProgress(agent.server, progress);
  entry->changed = true;
}

void Controller::OnUsage(agents::AgentName agent, job::ServerUsage usage) {
  const std::lock_guard lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  active->run().SetUsage(agent.server, std::move(usage));
  entry->changed = true;
}

void Controller::OnLogLine(agents::AgentName agent, store::LogEntry line) {
  parts_.metrics.CountLogLine();
  std::shared_ptr<store::JobLog> log;
  {
    const std::lock_guard lock(mutex_);
    JobEntry* entry = nullptr;
    ActiveRun* active = FindRun(agent, &entry);
    if (active == nullptr) return;
    active->run().NoteErrorLine(line.text);
    log = active->parts().log;
  }
  line.server = agent.server;
  // A slow disk holds up this agent alone. The log counts what is lost and says so.
  if (!log->Append(line)) parts_.metrics.CountLostLogLines(1);
  const std::lock_guard lock(mutex_);
  log_grown_.notify_all();
}

void Controller::OnOutcome(agents::AgentName agent, job::AgentOutcome outcome) {
  const std::lock_guard lock(mutex_);
  JobEntry* entry = nullptr;
  ActiveRun* active = FindRun(agent, &entry);
  if (active == nullptr) return;
  active->run().SetOutcome(agent.server, std::move(outcome), parts_.clock.MonotonicNs());
  entry->changed = true;
  Wake();
}

}  // namespace eidolon::controller::embedded
