// Runs: how they begin, go on and are given up.
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/job/metadata.h"
#include "services/controller/kube_host/kube_controller.h"
#include "services/controller/place/token.h"
#include "services/controller/reconcile/objects.h"

namespace eidolon::controller::kube_host {
namespace {

using base::Level;
using base::Log;
using base::StrCat;
using nlohmann::json;

constexpr std::size_t kTokenBytes = 16;

kube::Refusal Refused(const base::Error& error) {
  return {.status = 0, .reason = "ServiceLost", .message = error.message, .details = {}};
}

}  // namespace

KubeController::Done KubeController::StartRun(const json& object, reconcile::Plan plan) {
  const kube::ObjectKey key = kube::KeyOf(object);
  const std::string& cluster = plan.resolved.spec.cluster_name;
  const std::string network =
      cluster.empty() ? reconcile::NetworkNameOf(std::string(job::kJobKind), key.name)
                      : reconcile::NetworkNameOf(std::string(job::kClusterKind), cluster);
  auto run = std::make_shared<KubeRun>();
  run->resolved = std::move(plan.resolved);
  run->key = key;
  run->uid = UidOf(object);
  run->attempt = plan.attempt;
  run->simulators = SimulatorsOf(reconcile::NetworkAddress(network, key.name_space));
  run->network_job =
      StrCat(key.name_space, "/", key.name, "/", plan.attempt, "/", place::MakeToken(kTokenBytes));
  const auto peak_flops = run->simulators->FindPeakFlops(run->resolved.cluster.gpu);
  if (!peak_flops) return std::unexpected(Refused(peak_flops.error()));
  run->peak_flops = *peak_flops;
  const auto registered =
      run->simulators->RegisterJob(run->network_job, run->resolved.cluster, run->resolved.servers,
                                   run->resolved.spec.environment);
  if (!registered) return std::unexpected(Refused(registered.error()));
  Log(Level::kInfo, "job_starting",
      {{"namespace", key.name_space}, {"job", key.name}, {"attempt", StrCat(plan.attempt)}});
  const std::lock_guard lock(mutex_);
  run->handle = next_handle_++;
  handles_[run->handle] = run;
  runs_[run->uid] = run;
  return {};
}

void KubeController::DropRun(const std::string& uid) {
  std::shared_ptr<KubeRun> run;
  {
    const std::lock_guard lock(mutex_);
    admitted_.erase(uid);
    const auto found = runs_.find(uid);
    if (found == runs_.end()) return;
    run = found->second;
    run->dropped = true;
    handles_.erase(run->handle);
    runs_.erase(found);
    assembled_.notify_all();
  }
  for (const auto& [server, link] : run->links) link->SendStop("the job is over");
  run->simulators->RemoveJob(run->network_job);
}

void KubeController::StepRun(const json& object, const std::vector<reconcile::AgentExit>& exits) {
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  job::Order order = job::Order::kNone;
  std::vector<std::shared_ptr<AgentLink>> links;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(UidOf(object));
    if (found == runs_.end() || !found->second->run) return;
    KubeRun& run = *found->second;
    for (const reconcile::AgentExit& exit : exits) run.run->Exited(exit.server, exit.how, now_ns);
    order = run.run->Step(now_ns);
    why = run.run->stop_reason();
    for (const auto& [server, link] : run.links) links.push_back(link);
    parts_.metrics.SetPrediction(run.key.name_space, run.key.name, run.run->Predict());
    parts_.metrics.SetProgress(run.key.name_space, run.key.name, run.run->progress(now_ns),
                               run.run->cost(now_ns));
  }
  if (order == job::Order::kNone) return;
  queue_.Add(TextOf("job", kube::KeyOf(object)));
  // An agent without a link has told its outcome and ends: to remove its pod would remove its log.
  if (order == job::Order::kStop) {
    for (const auto& link : links) link->SendStop(why);
    return;
  }
  const auto removed =
      parts_.client.Delete(kube::kJobs, kube::KeyOf(object), kube::Propagation::kForeground);
  if (!removed) Log(Level::kWarning, "pods_not_ended", {{"reason", removed.error().message}});
}

}  // namespace eidolon::controller::kube_host
