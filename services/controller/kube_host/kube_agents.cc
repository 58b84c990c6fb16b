// The side of the agents: who they are is told by the token of their pod.
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/condition.h"
#include "services/controller/kube_host/kube_controller.h"
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

Result<Assignment> KubeController::Attach(const std::string& token,
                                          std::shared_ptr<AgentLink> link) {
  const auto identity = parts_.reviews.Authenticate(token, reconcile::kTokenAudience);
  if (!identity) return std::unexpected(identity.error());
  const std::int64_t since_ns = parts_.clock.MonotonicNs();
  std::unique_lock lock(mutex_);
  std::shared_ptr<KubeRun> run;
  std::uint32_t server = 0;
  while (!stopping_) {
    lock.unlock();
    const auto pod = pods_.Find({identity->name_space, identity->pod_name});
    bool known = pod != nullptr && (*pod)["metadata"].value("uid", "") == identity->pod_uid;
    std::string address, owner;
    if (known) {
      const reconcile::PodState state = reconcile::InspectPod(*pod);
      address = state.ip;
      server = state.server;
      // Labels are anybody's; owners are looked up.
      const auto labels = (*pod)["metadata"].value("labels", json::object());
      const auto placed =
          placed_.Find({identity->name_space, labels.value(reconcile::kJobLabel, "")});
      const bool ours =
          placed != nullptr && (*placed)["metadata"].value("uid", "-") == OwnerUidOf(*pod);
      if (ours) owner = OwnerUidOf(*placed);
      known = ours;
    }
    if (run == nullptr && !known && parts_.clock.MonotonicNs() - since_ns > kPodKnownNs) {
      return Fail(ErrorCode::kNotFound, "no job waits for an agent in this pod");
    }
    lock.lock();
    if (run == nullptr && known) {
      const auto found = runs_.find(owner);
      if (found != runs_.end()) run = found->second;
      if (run == nullptr) return Fail(ErrorCode::kNotFound, "no job waits for this agent");
      if (run->run || run->links.contains(server) || server >= run->resolved.servers) {
        return Fail(ErrorCode::kAlreadyExists, "another agent of this server has connected");
      }
      run->links[server] = link;
      parts_.metrics.AddConnectedAgents(1);
    }
    if (run != nullptr) {
      if (run->dropped) break;
      if (server == 0 && run->master_address.empty()) run->master_address = address;
      run->Assemble(parts_.clock.MonotonicNs(), base::FormatUtc(parts_.clock.UnixNs()));
      if (run->run) {
        assembled_.notify_all();
        Changed(*run);
        return run->MakeAssignment(server);
      }
    }
    assembled_.wait_for(lock, kLook);
  }
  if (run != nullptr) {
    run->links.erase(server);
    parts_.metrics.AddConnectedAgents(-1);
  }
  return Fail(ErrorCode::kUnavailable, "the job was ended before all its agents were there");
}

KubeRun* KubeController::FindRun(AgentName agent) {
  const auto found = handles_.find(agent.job_uid);
  return found == handles_.end() ? nullptr : found->second.get();
}

void KubeController::Changed(const KubeRun& run) {
  queue_.Add("job/" + run.key.name_space + "/" + run.key.name);
}

void KubeController::Detach(AgentName agent) {
  parts_.metrics.AddConnectedAgents(-1);
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run == nullptr) return;
  run->links.erase(agent.server);
  run->run->Disconnected(agent.server, parts_.clock.MonotonicNs());
  Changed(*run);
}

void KubeController::OnIteration(AgentName agent, const job::RankIteration& iteration) {
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run == nullptr) return;
  const bool was_ending = run->run->IsEnding();
  run->run->Add(iteration, parts_.clock.MonotonicNs());
  if (run->run->IsEnding() != was_ending) Changed(*run);
}

void KubeController::OnProgress(AgentName agent, const job::AgentProgress& progress) {
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run != nullptr) run->run->SetProgress(agent.server, progress);
}

void KubeController::OnUsage(AgentName agent, job::ServerUsage usage) {
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run != nullptr) run->run->SetUsage(agent.server, std::move(usage));
}

void KubeController::OnLogLine(AgentName agent, store::LogEntry line) {
  parts_.metrics.CountLogLine();
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run != nullptr) run->run->NoteErrorLine(line.text);
}

void KubeController::OnOutcome(AgentName agent, job::AgentOutcome outcome) {
  const std::lock_guard lock(mutex_);
  KubeRun* run = FindRun(agent);
  if (run == nullptr) return;
  run->run->SetOutcome(agent.server, std::move(outcome), parts_.clock.MonotonicNs());
  Changed(*run);
}

}  // namespace eidolon::controller::kube_host
