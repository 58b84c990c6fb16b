// The part of the controller that gets pods into the cluster, and tells why there are none.
#include "services/base/text.h"
#include "services/controller/kube_host/children.h"
#include "services/controller/kube_host/kube_controller.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;
using reconcile::ClassifyRefusal;
using reconcile::PodRefusal;

constexpr std::int64_t kAskPlaceAgainNs = 3'000'000'000;

}  // namespace

PodRefusal KubeController::TryPod(const json& batch) {
  json pod = batch["spec"]["template"];
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["namespace"] = batch["metadata"]["namespace"];
  pod["metadata"]["generateName"] = batch["metadata"].value("name", "") + "-check-";
  const auto accepted = parts_.client.Create(kube::kPods, pod, /*dry_run=*/true);
  return accepted ? PodRefusal{}
                  : ClassifyRefusal(accepted.error().status, accepted.error().message);
}

bool KubeController::MayAsk(const std::string& uid) {
  const RunRegistry::View runs(runs_);
  const auto run = runs.Find(uid);
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  if (run == nullptr || (run->asked_ns != 0 && now_ns - run->asked_ns < kAskPlaceAgainNs))
    return false;
  run->asked_ns = now_ns;
  return true;
}

void KubeController::Refuse(const json& object, PodRefusal refusal) {
  {
    const RunRegistry::View runs(runs_);
    if (const auto run = runs.Find(UidOf(object))) run->refusal = std::move(refusal);
  }
  queue_.Add(TextOf("job", kube::KeyOf(object)));
}

KubeController::Done KubeController::Place(const json& object, const std::vector<json>& objects) {
  const std::string uid = UidOf(object);
  if (objects.empty() || !MayAsk(uid)) return {};
  for (const json& child : objects) {
    const bool is_batch = child["kind"] == "Job";
    if (is_batch) {
      // Asked before, the API server says at once what its admission has against such a pod.
      if (PodRefusal refusal = TryPod(child)) {
        Refuse(object, std::move(refusal));
        return {};
      }
    }
    const auto applied = ApplyChild(&parts_.client, child);
    if (!applied) {
      // Quota counts Jobs and Services as well, and policies look at them.
      PodRefusal refusal = ClassifyRefusal(applied.error().status, applied.error().message);
      if (!refusal) return std::unexpected(applied.error());
      Refuse(object, std::move(refusal));
      return {};
    }
    if (!is_batch) continue;
    const RunRegistry::View runs(runs_);
    const auto run = runs.Find(uid);
    if (run == nullptr) continue;
    run->placed = true;
    run->placed_uid = UidOf(*applied);
    run->refusal = {};
  }
  return {};
}

// The job controller creates pods one by one, and tells by events alone when it may not.
void KubeController::LookForRefusal(const reconcile::ObservedJob& seen) {
  if (!seen.run || !seen.placed || !seen.run->seen || seen.run->assembled) return;
  const std::string uid = UidOf(seen.job);
  const auto wanted = (*seen.placed)["spec"].value("completions", std::size_t{0});
  if (seen.pods.size() >= wanted) {
    const RunRegistry::View runs(runs_);
    if (const auto run = runs.Find(uid)) run->refusal = {};
    return;
  }
  if (!MayAsk(uid)) return;
  const auto events = parts_.client.List(
      kube::kCoreEvents, kube::KeyOf(*seen.placed).name_space, "",
      base::StrCat("involvedObject.uid=", UidOf(*seen.placed), ",reason=FailedCreate"));
  if (!events) return;  // The next look may find it.
  std::string newest, message;
  for (const json& event : events->items) {
    const std::string time = event.value("lastTimestamp", "");
    if (message.empty() || time >= newest) {
      newest = time;
      message = event.value("message", "");
    }
  }
  if (message.empty()) return;
  PodRefusal refusal = ClassifyRefusal(403, message);
  const RunRegistry::View runs(runs_);
  if (const auto run = runs.Find(uid)) run->refusal = std::move(refusal);
}

void KubeController::NotePod(const json& pod) {
  const RunRegistry::View runs(runs_);
  if (const auto run = runs.FindPlaced(kube::KeyOf(pod).name_space, OwnerUidOf(pod))) {
    run->NotePod(pod);
  }
}

}  // namespace eidolon::controller::kube_host
