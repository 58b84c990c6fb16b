// Carrying plans out: objects and their status by way of the API server.
#include "services/base/hash.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/kube/lease.h"
#include "services/controller/kube_host/kube_controller.h"

namespace eidolon::controller::kube_host {
namespace {

using base::Level;
using base::Log;
using base::StrCat;
using nlohmann::json;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kStepNs = kSecondNs / 2;
constexpr std::int64_t kStatusNs = 5 * kSecondNs;

}  // namespace

KubeController::Done KubeController::Carry(const json& object, reconcile::Plan plan) {
  const kube::ObjectKey key = kube::KeyOf(object);
  const std::string uid = UidOf(object);
  StepRun(object, plan.exits);
  if (plan.run == reconcile::RunStep::kStart) {
    if (Done started = StartRun(object, std::move(plan)); !started) return started;
    queue_.Add(TextOf("job", key));
    return {};
  }
  bool later = false;
  if (plan.status) {
    // Transitions are written at once, progress now and then: etcd is no time series database.
    const bool news = !plan.events.empty() || plan.run != reconcile::RunStep::kNone;
    const std::int64_t now_ns = parts_.clock.MonotonicNs();
    {
      const std::lock_guard lock(mutex_);
      const auto run = runs_.find(uid);
      if (run != runs_.end()) {
        later = !news && now_ns - run->second->status_written_ns < kStatusNs;
        if (!later) run->second->status_written_ns = now_ns;
      }
    }
    if (!later) {
      if (Done written = WriteStatus(object, *plan.status); !written) return written;
    }
  }
  if (Done placed = Place(object, plan.apply); !placed) return placed;
  for (const reconcile::Deletion& deletion : plan.remove) {
    if (Done removed = Remove(key.name_space, deletion); !removed) return removed;
  }
  for (const reconcile::Transition& transition : plan.events) Tell(object, transition);
  if (plan.run == reconcile::RunStep::kDrop) DropRun(uid);
  if (plan.status && IsOver({{"status", *plan.status}}) && !IsOver(object)) {
    const json& status = *plan.status;
    std::string why;
    for (const json& condition : status["conditions"]) {
      if (condition["type"] == status["phase"]) why = condition["reason"].get<std::string>();
    }
    parts_.metrics.CountFinishedJob(status["phase"], why);
    const json none = json::object();
    parts_.metrics.AddCost(
        {.wall_seconds = status.value("simulation", none).value("wallSeconds", 0.0),
         .slowdown = std::nullopt},
        status.value("progress", none).value("virtualSeconds", 0.0));
    LookAtWaiting();
  }
  if (plan.remove_itself) {
    return parts_.client.Delete(kube::kSimulationJobs, key, kube::Propagation::kBackground, uid);
  }
  if (plan.look_again_s) {
    queue_.AddAfter(TextOf("job", key), *plan.look_again_s * kSecondNs);
  }
  const std::lock_guard lock(mutex_);
  if (runs_.contains(uid)) queue_.AddAfter(TextOf("job", key), kStepNs);
  return {};
}

KubeController::Done KubeController::Place(const json& object, const std::vector<json>& objects) {
  for (const json& child : objects) {
    if (child["kind"] == "Job") {
      // Asked before, the API server says at once what its admission has against such a pod.
      json pod = child["spec"]["template"];
      pod["apiVersion"] = "v1";
      pod["kind"] = "Pod";
      pod["metadata"]["namespace"] = object["metadata"]["namespace"];
      pod["metadata"]["generateName"] = object["metadata"].value("name", "") + "-check-";
      const auto accepted = parts_.client.Create(kube::kPods, pod, /*dry_run=*/true);
      if (!accepted && accepted.error().IsForbidden() &&
          accepted.error().message.find("violates PodSecurity") != std::string::npos) {
        const std::lock_guard lock(mutex_);
        const auto run = runs_.find(UidOf(object));
        if (run != runs_.end()) run->second->pods_refused = accepted.error().message;
        queue_.Add(TextOf("job", kube::KeyOf(object)));
        return {};
      }
    }
    const auto applied = parts_.client.Apply(child);
    if (!applied) return std::unexpected(applied.error());
    if (child["kind"] != "Job") continue;
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(UidOf(object));
    if (run != runs_.end()) run->second->placed = true;
  }
  return {};
}

KubeController::Done KubeController::Remove(const std::string& name_space,
                                            const reconcile::Deletion& deletion) {
  const json named = {{"apiVersion", deletion.api_version}, {"kind", deletion.kind}};
  const auto removed = parts_.client.Delete(kube::ResourceOf(named), {name_space, deletion.name},
                                            kube::Propagation::kForeground, deletion.uid);
  // Another object of this name is not what was meant.
  if (!removed && !removed.error().IsConflict()) return removed;
  return {};
}

KubeController::Done KubeController::WriteStatus(const json& object, const json& status) {
  const json change = {{"apiVersion", object["apiVersion"]},
                       {"kind", object["kind"]},
                       {"metadata",
                        {{"name", object["metadata"]["name"]},
                         {"namespace", object["metadata"]["namespace"]},
                         {"uid", object["metadata"]["uid"]}}},
                       {"status", status}};
  const auto written = parts_.client.ApplyStatus(change);
  const bool done = written || written.error().IsNotFound();
  // One that fails is looked at again, sooner or later; until then it is shown as it was.
  if (done || !written.error().IsConflict()) {
    const std::lock_guard lock(mutex_);
    NoteWrite(object["kind"], kube::KeyOf(object), done);
  }
  if (done) return {};
  return std::unexpected(written.error());
}

void KubeController::NoteWrite(const std::string& kind, const kube::ObjectKey& key, bool done) {
  if (done) {
    unsaved_.erase({kind, key});
  } else {
    unsaved_.insert({kind, key});
    ++failed_writes_;
  }
  parts_.metrics.SetStore(unsaved_.empty(), unsaved_.size(), failed_writes_);
}

void KubeController::Tell(const json& object, const reconcile::Transition& transition) {
  const json& metadata = object["metadata"];
  const std::string now = kube::FormatMicroTime(parts_.clock.UnixNs());
  const std::string text = StrCat(UidOf(object), transition.reason, transition.message, now);
  const std::uint64_t hash = base::Hash64(text.data(), text.size());
  const json event = {{"apiVersion", kube::kEvents.api_version},
                      {"kind", kube::kEvents.kind},
                      {"metadata",
                       {{"name", StrCat(metadata["name"].get<std::string>(), ".", hash)},
                        {"namespace", metadata["namespace"]}}},
                      {"eventTime", now},
                      {"reportingController", reconcile::kManagerName},
                      {"reportingInstance", options_.settings.agents_address},
                      {"action", transition.reason},
                      {"reason", transition.reason},
                      {"note", transition.message.substr(0, 1000)},
                      {"type", transition.warning ? "Warning" : "Normal"},
                      {"regarding",
                       {{"apiVersion", object["apiVersion"]},
                        {"kind", object["kind"]},
                        {"name", metadata["name"]},
                        {"namespace", metadata["namespace"]},
                        {"uid", metadata["uid"]}}}};
  const auto created = parts_.client.Create(kube::kEvents, event);
  if (!created) Log(Level::kWarning, "event_not_written", {{"reason", created.error().message}});
}

}  // namespace eidolon::controller::kube_host
