// Labels and owner references of a pod are written by any user who may create pods in the
// namespace, so they prove nothing. The token is bound to a pod by the API server; the pod's owner
// is looked up, and that Job's uid must be the one that the controller got when it created the Job.
// Attach blocks the thread of the agent's stream until all agents of the run are there, because the
// address of the first server's pod is part of each assignment. Informers have locks of their own,
// so FindPod runs without the lock of the runs. A pod that no run takes is refused after 10 s.
#include "services/controller/kube_host/agent_sessions.h"

#include <algorithm>
#include <chrono>

#include "services/base/utc.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/reconcile/pod_state.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using nlohmann::json;

constexpr std::chrono::milliseconds kLook(200);
constexpr std::int64_t kPodKnownNs = 10'000'000'000;

}  // namespace

std::optional<AgentSessions::Pod> AgentSessions::FindPod(const kube::Identity& identity) const {
  const auto pod = parts_.pods.Find({identity.name_space, identity.pod_name});
  if (pod == nullptr || (*pod)["metadata"].value("uid", "") != identity.pod_uid) {
    return std::nullopt;
  }
  const reconcile::PodState state = reconcile::InspectPod(*pod);
  // Labels are anybody's; owners are looked up.
  const auto labels = (*pod)["metadata"].value("labels", json::object());
  const auto placed =
      parts_.placed.Find({identity.name_space, labels.value(reconcile::kJobLabel, "")});
  if (placed == nullptr || (*placed)["metadata"].value("uid", "-") != OwnerUidOf(*pod)) {
    return std::nullopt;
  }
  return Pod{.name_space = identity.name_space,
             .address = state.ip,
             .server = state.server,
             .placed_uid = UidOf(*placed),
             .job_uid = OwnerUidOf(*placed)};
}

Result<std::shared_ptr<KubeRun>> AgentSessions::Join(
    const RunRegistry::View& runs, const Pod& pod, const std::shared_ptr<agents::AgentLink>& link) {
  const auto run = runs.Find(pod.job_uid);
  if (run == nullptr || run->key.name_space != pod.name_space) {
    return Fail(ErrorCode::kNotFound, "no job waits for this agent");
  }
  // The answer that brings the uid may come later than the first pod.
  if (!run->placed) return nullptr;
  // Whoever edits a namespace can write any owner into a batch Job and a pod of theirs.
  if (run->placed_uid != pod.placed_uid) {
    return Fail(ErrorCode::kNotFound, "this pod is not of the batch Job that runs the job");
  }
  if (!std::ranges::binary_search(run->agent_servers, pod.server)) {
    return Fail(ErrorCode::kNotFound, "the job has no agent on the server of this pod");
  }
  if (run->run || run->links.contains(pod.server)) {
    return Fail(ErrorCode::kAlreadyExists, "another agent of this server has connected");
  }
  run->links[pod.server] = link;
  parts_.metrics.AddConnectedAgents(1);
  return run;
}

Result<agents::Assignment> AgentSessions::Attach(const std::string& token,
                                                 std::shared_ptr<agents::AgentLink> link) {
  const auto identity = parts_.reviews.Authenticate(token, reconcile::kTokenAudience);
  if (!identity) return std::unexpected(identity.error());
  const std::int64_t since_ns = parts_.clock.MonotonicNs();
  RunRegistry::View runs(parts_.runs);
  std::shared_ptr<KubeRun> run;
  Pod last;  // As it was seen last.
  while (!runs.is_closed()) {
    runs.Unlock();
    const std::optional<Pod> pod = FindPod(*identity);
    if (pod) last = *pod;
    if (run == nullptr && parts_.clock.MonotonicNs() - since_ns > kPodKnownNs) {
      return Fail(ErrorCode::kNotFound, "no job waits for an agent in this pod");
    }
    runs.Lock();
    if (run == nullptr && pod) {
      auto joined = Join(runs, *pod, link);
      if (!joined) return std::unexpected(joined.error());
      run = *std::move(joined);
    }
    if (run != nullptr) {
      if (run->dropped) break;
      if (last.server == 0 && run->master_address.empty()) run->master_address = last.address;
      run->Assemble(parts_.clock.MonotonicNs(), base::FormatUtc(parts_.clock.UnixNs()));
      if (run->run) {
        runs.Wake();
        parts_.changed(run->key);
        return run->MakeAssignment(last.server);
      }
    }
    runs.Await(kLook);
  }
  if (run != nullptr) {
    run->links.erase(last.server);
    parts_.metrics.AddConnectedAgents(-1);
  }
  return Fail(ErrorCode::kUnavailable, "the job was ended before all its agents were there");
}

void AgentSessions::Detach(agents::AgentName agent) {
  parts_.metrics.AddConnectedAgents(-1);
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run == nullptr) return;
  run->links.erase(agent.server);
  run->run->Disconnected(agent.server, parts_.clock.MonotonicNs());
  parts_.changed(run->key);
}

void AgentSessions::OnIteration(agents::AgentName agent, const job::RankIteration& iteration) {
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run == nullptr) return;
  const bool was_ending = run->run->IsEnding();
  run->run->Add(iteration, parts_.clock.MonotonicNs());
  if (run->run->IsEnding() != was_ending) parts_.changed(run->key);
}

void AgentSessions::OnProgress(agents::AgentName agent, const job::AgentProgress& progress) {
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run != nullptr) run->run->SetProgress(agent.server, progress);
}

void AgentSessions::OnUsage(agents::AgentName agent, job::ServerUsage usage) {
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run != nullptr) run->run->SetUsage(agent.server, std::move(usage));
}

void AgentSessions::OnLogLine(agents::AgentName agent, store::LogEntry entry) {
  parts_.metrics.CountLogLine();
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run != nullptr) run->run->NoteLogLine(agent.server, entry.text);
}

void AgentSessions::OnOutput(agents::AgentName agent, const outputs::Part& part) {
  std::shared_ptr<outputs::RunOutputs> outputs;
  {
    const RunRegistry::View runs(parts_.runs);
    if (const auto run = runs.Find(agent)) outputs = run->outputs;
  }
  // Without the lock of all runs: it waits for the disk.
  if (outputs != nullptr) outputs->Add(agent.server, part);
}

void AgentSessions::OnOutcome(agents::AgentName agent, job::AgentOutcome outcome) {
  const RunRegistry::View runs(parts_.runs);
  const auto run = runs.Find(agent);
  if (run == nullptr) return;
  run->run->SetOutcome(agent.server, std::move(outcome), parts_.clock.MonotonicNs());
  parts_.changed(run->key);
}

}  // namespace eidolon::controller::kube_host
