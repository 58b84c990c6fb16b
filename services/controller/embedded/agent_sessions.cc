// A token names one server of one run, and a second agent with it is refused. Reports change the
// run under the lock and mark the entry as changed; the control thread is woken only if it has to
// decide something now, and shows progress at its own pace. A line of output is written without the
// lock, in the thread of the agent's stream: a slow disk thus slows down the agent that writes too
// much (gRPC's flow control) and no other. Between two calls of WithRun the run may have ended, so
// each looks it up again.
#include "services/controller/embedded/agent_sessions.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace eidolon::controller::embedded {

using agents::AgentName;
using agents::Assignment;
using base::ErrorCode;
using base::Fail;
using base::Result;

Result<Assignment> AgentSessions::Attach(const std::string& token,
                                         std::shared_ptr<agents::AgentLink> link) {
  const ControllerParts& parts = state_.parts();
  const std::lock_guard lock(state_.mutex());
  for (const std::int64_t uid : state_.active()) {
    JobEntry& entry = *state_.table().Find(uid);
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
    parts.metrics.AddConnectedAgents(1);
    state_.Wake();
    const std::string& job = active.parts().network_job;
    return Assignment{.agent = {uid, server},
                      .job = job,
                      .resolved = active.parts().resolved,
                      .run_directory = active.parts().directory.server_path(server),
                      .timing_address = parts.simulators.timing_address(),
                      .network_address = parts.simulators.network_address(),
                      .service_token = parts.simulators.MakeServiceToken(job),
                      .master_port = active.parts().master_port};
  }
  return Fail(ErrorCode::kNotFound, "no job waits for an agent with this token");
}

void AgentSessions::Detach(AgentName agent) {
  const ControllerParts& parts = state_.parts();
  const std::lock_guard lock(state_.mutex());
  parts.metrics.AddConnectedAgents(-1);
  JobEntry* entry = nullptr;
  ActiveRun* active = state_.FindRun(agent, &entry);
  if (active == nullptr) return;
  active->Detach(agent.server);
  active->run().Disconnected(agent.server, parts.clock.MonotonicNs());
  state_.Wake();
}

void AgentSessions::WithRun(AgentName agent,
                            const std::function<void(JobEntry&, job::Run&)>& change) {
  const std::lock_guard lock(state_.mutex());
  JobEntry* entry = nullptr;
  ActiveRun* active = state_.FindRun(agent, &entry);
  if (active == nullptr) return;
  change(*entry, active->run());
}

void AgentSessions::OnIteration(AgentName agent, const job::RankIteration& iteration) {
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    const bool was_ending = run.IsEnding();
    run.Add(iteration, state_.parts().clock.MonotonicNs());
    entry.changed = true;
    if (run.IsEnding() != was_ending) state_.Wake();
  });
}

void AgentSessions::OnProgress(AgentName agent, const job::AgentProgress& progress) {
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    run.SetProgress(agent.server, progress);
    entry.changed = true;
  });
}

void AgentSessions::OnUsage(AgentName agent, job::ServerUsage usage) {
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    run.SetUsage(agent.server, std::move(usage));
    entry.changed = true;
  });
}

void AgentSessions::OnLogLine(AgentName agent, store::LogEntry line) {
  state_.parts().metrics.CountLogLine();
  std::shared_ptr<store::JobLog> log;
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    run.NoteLogLine(agent.server, line.text);
    log = entry.active->parts().log;
  });
  if (log == nullptr) return;
  line.server = agent.server;
  // A slow disk holds up this agent alone. The log counts what is lost and says so.
  if (!log->Append(line)) state_.parts().metrics.CountLostLogLines(1);
  const std::lock_guard lock(state_.mutex());
  state_.NotifyLogGrown();
}

void AgentSessions::OnOutcome(AgentName agent, job::AgentOutcome outcome) {
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    run.SetOutcome(agent.server, std::move(outcome), state_.parts().clock.MonotonicNs());
    entry.changed = true;
    state_.Wake();
  });
}

void AgentSessions::OnExit(AgentName agent, std::string how) {
  std::string folder;
  WithRun(agent, [&](JobEntry& entry, job::Run&) {
    folder = entry.active->parts().directory.server_path(agent.server);
  });
  if (folder.empty()) return;
  const std::string tail = AgentLogTail(folder);
  if (!tail.empty()) how += "; its log ends with: " + tail;
  WithRun(agent, [&](JobEntry& entry, job::Run& run) {
    run.Exited(agent.server, how, state_.parts().clock.MonotonicNs());
    entry.changed = true;
    state_.Wake();
  });
}

}  // namespace eidolon::controller::embedded
