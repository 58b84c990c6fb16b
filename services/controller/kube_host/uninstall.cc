// The order is what makes an uninstall complete. Controllers go first, because they would create
// again what is removed; jobs are put off next, so that the next installation finds them waiting;
// then their objects go. Each step is repeatable, since Helm may run the hook again after a
// failure. Objects are deleted by uid, and only if a resource of ours is their controller: labels
// alone can be copied onto anything.
#include "services/controller/kube_host/uninstall.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <thread>

#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/condition.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
namespace condition = job::condition;

constexpr std::chrono::milliseconds kPodsLook(500);
constexpr char kChildSelector[] = "app.kubernetes.io/managed-by=eidolon-controller";
constexpr std::string_view kOwnerGroup = "eidolon.dev/";
constexpr const char* kPartsOfRun[] = {"progress", "prediction", "simulation",     "startTime",
                                       "timeline", "recording",  "nextAttemptTime"};
constexpr char kPutOffText[] =
    "Eidolon was uninstalled; the next installation begins the job again";

std::unexpected<base::Error> CannotDo(const std::string& what, const kube::Refusal& refusal) {
  return base::Fail(
      refusal.IsForbidden() ? ErrorCode::kFailedPrecondition : ErrorCode::kUnavailable,
      StrCat("cannot ", what, ": ", refusal.message));
}

bool IsChildOfOurs(const json& object) {
  const auto owners = object["metadata"].value("ownerReferences", json::array());
  return std::ranges::any_of(owners, [](const json& owner) {
    return owner.value("controller", false) &&
           owner.value("apiVersion", "").starts_with(kOwnerGroup);
  });
}

class Uninstaller {
 public:
  Uninstaller(const UninstallOptions& options, kube::Client* client, const base::RealClock& clock)
      : options_(options), client_(*client), clock_(clock) {}

  base::Result<Uninstalled> Run() {
    if (auto stopped = StopControllers(); !stopped) return std::unexpected(stopped.error());
    if (auto put_off = PutOffJobs(); !put_off) return std::unexpected(put_off.error());
    // Network services go in any case; pods and Services of jobs, when their job is not over.
    for (const kube::Resource& resource :
         {kube::kJobs, kube::kDeployments, kube::kServices, kube::kNetworkPolicies}) {
      if (auto removed = RemoveAll(resource); !removed) return std::unexpected(removed.error());
    }
    return done_;
  }

 private:
  // They would make again what is removed.
  base::Result<void> StopControllers() {
    const kube::ObjectKey key = {options_.release_namespace, options_.deployment};
    const auto scaled = client_.MergePatch(kube::kDeployments, key, {{"spec", {{"replicas", 0}}}});
    if (!scaled && !scaled.error().IsNotFound()) {
      return CannotDo(StrCat("stop the controllers of Deployment '", key.name, "'"),
                      scaled.error());
    }
    const std::int64_t end_ns =
        clock_.MonotonicNs() + std::chrono::nanoseconds(options_.patience).count();
    while (true) {
      const auto pods =
          client_.List(kube::kPods, options_.release_namespace, options_.controller_pods);
      if (!pods) return CannotDo("list the controllers' pods", pods.error());
      if (pods->items.empty()) return {};
      if (clock_.MonotonicNs() >= end_ns) {
        return base::Fail(ErrorCode::kUnavailable,
                          StrCat("pod '", pods->items[0]["metadata"].value("name", ""), "' and ",
                                 pods->items.size() - 1, " other controllers still run after ",
                                 options_.patience.count(),
                                 " s: see why they do not end, or uninstall with --no-hooks"));
      }
      std::this_thread::sleep_for(kPodsLook);
    }
  }

  // A job that is not over says that it waits, and is begun again by the next installation.
  base::Result<void> PutOffJobs() {
    const auto jobs = client_.List(kube::kSimulationJobs, options_.name_space, "");
    if (!jobs) return CannotDo("list simulation jobs", jobs.error());
    for (const json& job : jobs->items) {
      if (IsOver(job)) {
        over_.insert(UidOf(job));
        continue;
      }
      json status = job.value("status", json::object());
      auto conditions = job::Conditions::FromJson(status.value("conditions", json::array()));
      if (!conditions.IsTrue(condition::kScheduled) && !conditions.IsTrue(condition::kRunning)) {
        continue;  // It waits already.
      }
      for (const std::string_view type : {condition::kScheduled, condition::kRunning}) {
        conditions.Set({.type = std::string(type),
                        .value = false,
                        .reason = std::string(job::reason::kControllerStopped),
                        .message = kPutOffText,
                        .last_transition_time = base::FormatUtc(clock_.UnixNs()),
                        .observed_generation = job["metadata"].value("generation", std::int64_t{1}),
                        .is_unknown = false});
      }
      for (const char* part : kPartsOfRun) status.erase(part);
      status["conditions"] = conditions.ToJson();
      status["phase"] = job::Name(conditions.phase());
      if (auto written = Write(job, status); !written) return written;
    }
    return {};
  }

  base::Result<void> Write(const json& job, const json& status) {
    const kube::ObjectKey key = kube::KeyOf(job);
    const auto written = client_.ApplyStatus(
        {{"apiVersion", job["apiVersion"]},
         {"kind", job["kind"]},
         {"metadata",
          {{"name", key.name}, {"namespace", key.name_space}, {"uid", job["metadata"]["uid"]}}},
         {"status", status}});
    if (written) ++done_.jobs;
    if (written || written.error().IsNotFound()) return {};
    return CannotDo(StrCat("write the status of job '", key.name_space, "/", key.name, "'"),
                    written.error());
  }

  base::Result<void> RemoveAll(const kube::Resource& resource) {
    const auto found = client_.List(resource, options_.name_space, kChildSelector);
    if (!found) return CannotDo(StrCat("list ", resource.plural), found.error());
    for (const json& object : found->items) {
      if (!IsChildOfOurs(object) || IsOfFinishedJob(object)) continue;
      const auto removed = client_.Delete(resource, kube::KeyOf(object),
                                          kube::Propagation::kBackground, UidOf(object));
      if (!removed && !removed.error().IsConflict()) {
        return CannotDo(StrCat("remove ", resource.kind, " '", kube::KeyOf(object).name, "'"),
                        removed.error());
      }
      ++done_.objects;
    }
    return {};
  }

  bool IsOfFinishedJob(const json& object) const {
    const auto labels = object["metadata"].value("labels", json::object());
    return labels.value("app.kubernetes.io/component", "") != "network" &&
           over_.contains(OwnerUidOf(object));
  }

  const UninstallOptions& options_;
  kube::Client& client_;
  const base::RealClock& clock_;
  std::set<std::string> over_;  // UIDs of jobs that are over.
  Uninstalled done_;
};

}  // namespace

base::Result<Uninstalled> Uninstall(const UninstallOptions& options, kube::Client* client,
                                    const base::RealClock& clock) {
  return Uninstaller(options, client, clock).Run();
}

}  // namespace eidolon::controller::kube_host
