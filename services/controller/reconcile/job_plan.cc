#include <algorithm>

#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/job.h"
#include "services/controller/job/resolve.h"
#include "services/controller/reconcile/objects.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/reconcile/pod_state.h"

namespace eidolon::controller::reconcile {
namespace {

using base::StrCat;
using nlohmann::json;
namespace condition = job::condition;
namespace reason = job::reason;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kServicesRetrySeconds = 2;
// Pods are left alone until no agent can be at work any more and the kubelet has had time to tell:
// with a pod goes its log.
constexpr std::int64_t kKubeletSeconds = 20;
constexpr std::int64_t kLeaveSeconds = job::kEndGraceSeconds + kKubeletSeconds;

bool IsBeingDeleted(const json& object) { return object["metadata"].contains("deletionTimestamp"); }

bool IsReady(const std::optional<json>& deployment) {
  if (!deployment) return false;
  const json status = deployment->value("status", json::object());
  return status.value("availableReplicas", 0) > 0;
}

// Seconds since 1970 of "2026-11-21T09:53:36Z"; 0 when it is none.
std::int64_t ParseTime(const std::string& text) {
  std::tm utc{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return 0;
  return timegm(&utc);
}

class JobReconciler {
 public:
  JobReconciler(const ObservedJob& observed, const Settings& settings)
      : seen_(observed),
        settings_(settings),
        old_status_(observed.job.value("status", json::object())),
        parsed_(job::ParseJob(DocumentOf(observed.job), job::Mode::kKubernetes)),
        conditions_(job::Conditions::FromJson(old_status_.value("conditions", json::array()))) {}

  Plan Run() {
    const std::string& manager = parsed_.spec.managed_by;
    if (!manager.empty() && manager != kManagerName) return std::move(plan_);
    if (IsBeingDeleted(seen_.job)) {
      if (seen_.run) plan_.run = RunStep::kDrop;
      return std::move(plan_);
    }
    if (job::IsOver(conditions_.phase())) {
      AfterTheEnd();
    } else if (Accept()) {
      if (parsed_.spec.suspend) {
        Suspend();
      } else if (seen_.run) {
        Follow();
      } else {
        Begin();
      }
    }
    WriteStatus();
    return std::move(plan_);
  }

 private:
  const json& metadata() const { return seen_.job["metadata"]; }

  void Set(std::string_view type, bool value, std::string_view why, const std::string& message) {
    const job::Condition* before = conditions_.Find(type);
    const bool news = before == nullptr || before->value != value || before->reason != why;
    conditions_.Set({std::string(type), value, std::string(why), message,
                     base::FormatUtc(seen_.now_unix_ns),
                     metadata().value("generation", std::int64_t{1})});
    // Waiting is not worth an event.
    if (!news || (!value && why != reason::kStopping)) return;
    const bool bad = (type == condition::kFailed || type == condition::kInterrupted);
    plan_.events.push_back({std::string(why), message, bad});
  }

  void Remove(const json& object) {
    if (IsBeingDeleted(object)) return;
    plan_.remove.push_back({object["apiVersion"], object["kind"], object["metadata"]["name"],
                            object["metadata"].value("uid", "")});
  }

  void End(const job::Verdict& verdict) {
    if (conditions_.Find(condition::kRunning) != nullptr) {
      Set(condition::kRunning, false, reason::kFinished, "");
    }
    Set(job::Name(verdict.phase), true, verdict.reason, verdict.message);
    parts_["completionTime"] = base::FormatUtc(seen_.now_unix_ns);
    if (seen_.run) plan_.run = RunStep::kDrop;
    if (seen_.placed && !HasEnded(*seen_.placed)) plan_.look_again_s = kLeaveSeconds;
  }

  // Pods that are let go end by themselves, and their logs stay; those that do not are removed.
  void RemoveWhatStays() {
    if (!seen_.placed || HasEnded(*seen_.placed)) return;
    const std::int64_t ended = ParseTime(old_status_.value("completionTime", ""));
    const std::int64_t left = ended + kLeaveSeconds - seen_.now_unix_ns / kSecondNs;
    if (left <= 0) return Remove(*seen_.placed);
    plan_.look_again_s = left;
  }

  static bool HasEnded(const json& batch) {
    for (const json& entry :
         batch.value("status", json::object()).value("conditions", json::array())) {
      const std::string type = entry.value("type", "");
      if ((type == "Complete" || type == "Failed") && entry.value("status", "") == "True") {
        return true;
      }
    }
    return false;
  }

  void AfterTheEnd() {
    if (seen_.run) plan_.run = RunStep::kDrop;
    if (parsed_.spec.cluster && seen_.network) Remove(*seen_.network);
    RemoveWhatStays();
    if (!parsed_.spec.ttl_seconds_after_finished) return;
    const std::int64_t ended = ParseTime(old_status_.value("completionTime", ""));
    const auto ttl = static_cast<std::int64_t>(*parsed_.spec.ttl_seconds_after_finished);
    const std::int64_t left = ended + ttl - seen_.now_unix_ns / kSecondNs;
    plan_.remove_itself = left <= 0;
    if (left > 0) plan_.look_again_s = std::min(left, plan_.look_again_s.value_or(left));
  }

  // Whether the job can be run as it is; settles sizes.
  bool Accept() {
    job::Problems problems = parsed_.problems;
    std::optional<job::ClusterSpec> cluster = parsed_.spec.cluster;
    if (problems.empty() && !cluster) {
      if (!seen_.cluster) {
        Set(condition::kAccepted, true, reason::kValid, base::Join(parsed_.warnings, "; "));
        if (seen_.run) {
          EndWithoutCluster(*seen_.run);
          return false;
        }
        Set(condition::kScheduled, false, reason::kClusterNotFound,
            StrCat("waiting for SimulatedCluster '", parsed_.spec.cluster_name, "' in namespace '",
                   metadata().value("namespace", ""), "'"));
        return false;
      }
      job::ParsedCluster parsed = job::ParseCluster(DocumentOf(*seen_.cluster));
      if (!parsed.problems.empty()) {
        problems.push_back(
            {"/spec/clusterRef/name", StrCat("SimulatedCluster '", parsed_.spec.cluster_name,
                                             "' is not valid: ", job::Describe(parsed.problems))});
      }
      cluster = parsed.spec;
    }
    if (problems.empty()) {
      resolved_ = job::Resolve(
          parsed_.spec, &*cluster,
          [this] { return seen_.gpus.value_or(std::vector<std::string>{}); }, &problems);
    }
    if (problems.empty()) {
      Set(condition::kAccepted, true, reason::kValid, base::Join(parsed_.warnings, "; "));
      return true;
    }
    Set(condition::kAccepted, false, reason::kInvalidSpec, job::Describe(problems));
    End({job::Phase::kFailed, std::string(reason::kInvalidSpec), job::Describe(problems)});
    return false;
  }

  // The network service goes with its cluster: what was not measured by then never will be.
  void EndWithoutCluster(const RunFacts& run) {
    TakeParts(run);
    if (run.verdict) return End(*run.verdict);
    End({job::Phase::kFailed, std::string(reason::kClusterNotFound),
         StrCat("SimulatedCluster '", parsed_.spec.cluster_name,
                "' was deleted while the job ran on it")});
  }

  void TakeParts(const RunFacts& run) {
    parts_ = run.parts;
    parts_["attempt"] = run.attempt;
  }

  void Wait(std::string_view why, const std::string& message) {
    Set(condition::kScheduled, false, why, message);
  }

  void Suspend() {
    if (seen_.run) plan_.run = RunStep::kDrop;
    if (seen_.placed) Remove(*seen_.placed);
    if (conditions_.IsTrue(condition::kRunning)) {
      Set(condition::kRunning, false, reason::kSuspended, "");
    }
    Wait(reason::kSuspended, "spec.suspend is true");
  }

  // No run in memory: it was never started, or by a controller that is gone.
  void Begin() {
    const std::uint32_t attempts = old_status_.value("attempt", 0u);
    if (seen_.placed) {
      // Its agents speak to nobody any more.
      Remove(*seen_.placed);
      Wait(reason::kControllerRestarted,
           "the controller that ran the job is gone; its pods are ended, then it starts again");
      return;
    }
    if (attempts >= settings_.attempts_max) {
      End({job::Phase::kInterrupted, std::string(reason::kControllerRestarted),
           StrCat("the controller was lost in each of ", attempts, " attempts")});
      return;
    }
    if (!seen_.admission.granted) {
      Wait(reason::kQueued, StrCat("waiting: ", seen_.admission.before, " job(s) before this one, ",
                                   seen_.admission.running, " running"));
      return;
    }
    if (parsed_.spec.cluster && !IsReady(seen_.network)) {
      plan_.apply = NetworkObjects(seen_.job, settings_);
    }
    if (!IsReady(seen_.network)) {
      Wait(reason::kWaitingForServices, "waiting for the network service of the simulated cluster");
      return;
    }
    if (!seen_.gpus) {
      Wait(reason::kWaitingForServices, "waiting for the timing service");
      plan_.look_again_s = kServicesRetrySeconds;
      return;
    }
    plan_.run = RunStep::kStart;
    plan_.attempt = attempts + 1;
    plan_.resolved = std::move(resolved_);
  }

  void Follow() {
    const RunFacts& run = *seen_.run;
    TakeParts(run);
    if (run.verdict) {
      End(*run.verdict);
      return;
    }
    if (!run.placed) {
      if (!seen_.pods_refused.empty()) {
        End({job::Phase::kFailed, std::string(reason::kPodSecurityViolation), seen_.pods_refused});
        return;
      }
      plan_.apply = JobObjects(seen_.job, resolved_, run.attempt, settings_);
    }
    Set(condition::kScheduled, true, reason::kPlaced, "");
    if (run.placed) LookAtPods();
    if (job::IsOver(conditions_.phase())) return;
    if (run.ending) {
      Set(condition::kRunning, conditions_.IsTrue(condition::kRunning), reason::kStopping,
          run.stop_reason);
    } else if (run.assembled) {
      Set(condition::kRunning, true, reason::kStarted, "");
    } else {
      Set(condition::kRunning, false, reason::kStarting, DescribeWaiting());
    }
  }

  void LookAtPods() {
    std::vector<bool> present(resolved_.servers);
    for (const json& pod : seen_.pods) {
      PodState state = InspectPod(pod);
      if (state.server >= resolved_.servers) continue;
      present[state.server] = true;
      if (state.ended) plan_.exits.push_back({state.server, *state.ended});
      const std::string hopeless = HopelessReason(state);
      if (!hopeless.empty() && !seen_.run->assembled) {
        End({job::Phase::kFailed, hopeless, HopelessMessage(state)});
        if (seen_.placed) Remove(*seen_.placed);
        return;
      }
      pods_.push_back(std::move(state));
    }
    // What was just created may not have been observed yet.
    const bool no_more =
        seen_.placed ? HasEnded(*seen_.placed) || IsBeingDeleted(*seen_.placed) : seen_.run->seen;
    for (std::uint32_t server = 0; server < resolved_.servers && no_more; ++server) {
      if (!present[server]) plan_.exits.push_back({server, "lost its pod, which was deleted"});
    }
    if (seen_.run->assembled || plan_.exits.empty()) return;
    const AgentExit& first = plan_.exits.front();
    End({job::Phase::kFailed, std::string(reason::kAgentLost),
         StrCat("the agent of server ", first.server, " ", first.how,
                " before the command was started")});
  }

  std::string DescribeWaiting() const {
    std::string text = StrCat("waiting for the agents of ", resolved_.servers, " server(s)");
    for (const PodState& pod : pods_) {
      if (pod.waiting_reason.empty()) continue;
      return text + StrCat("; pod ", pod.name, ": ", pod.waiting_reason, ": ", pod.waiting_message);
    }
    return text;
  }

  void WriteStatus() {
    json status = old_status_;
    status["observedGeneration"] = metadata().value("generation", std::int64_t{1});
    status["phase"] = job::Name(conditions_.phase());
    status["conditions"] = conditions_.ToJson();
    if (!parsed_.warnings.empty()) status["warnings"] = parsed_.warnings;
    status.update(parts_);
    if (status != old_status_) plan_.status = std::move(status);
  }

  const ObservedJob& seen_;
  const Settings& settings_;
  const json old_status_;
  const job::ParsedJob parsed_;
  job::Conditions conditions_;
  job::ResolvedJob resolved_;
  json parts_ = json::object();
  std::vector<PodState> pods_;
  Plan plan_;
};

}  // namespace

json DocumentOf(const json& object) {
  json document = {{"apiVersion", object.value("apiVersion", "")},
                   {"kind", object.value("kind", "")},
                   {"metadata", json::object()}};
  for (const char* field : {"name", "namespace"}) {
    if (object["metadata"].contains(field)) {
      document["metadata"][field] = object["metadata"][field];
    }
  }
  if (object.contains("spec")) document["spec"] = object["spec"];
  return document;
}

Plan ReconcileJob(const ObservedJob& observed, const Settings& settings) {
  return JobReconciler(observed, settings).Run();
}

Plan ReconcileCluster(const ObservedCluster& observed, const Settings& settings) {
  Plan plan;
  const json& cluster = observed.cluster;
  if (IsBeingDeleted(cluster)) return plan;
  job::ParsedCluster parsed = job::ParseCluster(DocumentOf(cluster));
  if (parsed.problems.empty() && observed.gpus) {
    job::CheckGpu(
        parsed.spec, "/spec", [&] { return *observed.gpus; }, &parsed.problems);
  }
  const json old_status = cluster.value("status", json::object());
  auto conditions = job::Conditions::FromJson(old_status.value("conditions", json::array()));
  const std::int64_t generation = cluster["metadata"].value("generation", std::int64_t{1});
  const auto set = [&](const char* type, bool value, std::string_view why,
                       const std::string& message) {
    conditions.Set({type, value, std::string(why), message, base::FormatUtc(observed.now_unix_ns),
                    generation});
  };
  const bool valid = parsed.problems.empty();
  set("Accepted", valid, valid ? reason::kValid : reason::kInvalidSpec,
      job::Describe(parsed.problems));
  if (valid) plan.apply = NetworkObjects(cluster, settings);
  const bool ready = valid && IsReady(observed.network);
  set("Ready", ready, ready ? reason::kStarted : reason::kStarting,
      ready ? "" : "the network service does not run yet");
  json status = {{"observedGeneration", generation}, {"conditions", conditions.ToJson()}};
  if (valid) status["resolved"] = job::ToJson(parsed.spec);
  if (status != old_status) plan.status = std::move(status);
  return plan;
}

}  // namespace eidolon::controller::reconcile
