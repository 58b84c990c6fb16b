#include <algorithm>

#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/job.h"
#include "services/controller/job/resolve.h"
#include "services/controller/reconcile/attempt.h"
#include "services/controller/reconcile/object_state.h"
#include "services/controller/reconcile/objects.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/reconcile/pod_state.h"
#include "services/controller/reconcile/waiting.h"

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

// Pods that are still there so long after the end of their grace are on a node that does not
// answer.
constexpr std::int64_t kStuckSeconds = 30;
// For so long the kubelet repeats what registries refuse; then another node may do better.
constexpr std::int64_t kPullSeconds = 120;
// A job that gave its place back leaves it to others for so long.
constexpr std::int64_t kGivenBackSeconds = 60;
// Time after which a network service of its own that was refused is tried again.
constexpr std::int64_t kRefusedSeconds = 10;
constexpr std::size_t kRunWarningsMax = 32;  // The API server takes 64 in all.
constexpr const char* kRunParts[] = {"progress",  "prediction", "simulation",
                                     "startTime", "timeline",   "recording"};

class JobReconciler {
 public:
  JobReconciler(const ObservedJob& observed, const Settings& settings)
      : seen_(observed),
        settings_(settings),
        old_status_(observed.job.value("status", json::object())),
        parsed_(job::ParseJob(DocumentOf(observed.job), job::Mode::kKubernetes)),
        conditions_(job::Conditions::FromJson(old_status_.value("conditions", json::array()))),
        was_over_(job::IsOver(conditions_.phase())),
        known_dimensions_(
            job::DimensionsFromJson(old_status_.value("foldDimensions", json::array()))) {}

  Plan Run() {
    const std::string& manager = parsed_.spec.managed_by;
    if (!manager.empty() && manager != kManagerName) return std::move(plan_);
    if (IsBeingDeleted(seen_.job)) {
      if (seen_.run) plan_.run = RunStep::kDrop;
      return std::move(plan_);
    }
    if (was_over_) {
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
  std::size_t agents() const { return agent_servers_.size(); }

  void Set(std::string_view type, bool value, std::string_view why, const std::string& message) {
    const job::Condition* before = conditions_.Find(type);
    const bool news = before == nullptr || before->value != value || before->reason != why ||
                      (type == condition::kRetried && before->message != message);
    conditions_.Set({std::string(type), value, std::string(why), message,
                     base::FormatUtc(seen_.now_unix_ns),
                     metadata().value("generation", std::int64_t{1})});
    // Waiting is not worth an event.
    const bool begins_again = type == condition::kScheduled && why == reason::kClassesFound;
    if (!news || (!value && why != reason::kStopping && !begins_again)) return;
    const bool bad = type == condition::kFailed || type == condition::kInterrupted ||
                     type == condition::kRetried;
    plan_.events.push_back({std::string(why), message, bad});
  }

  std::int64_t now_s() const { return seen_.now_unix_ns / kSecondNs; }

  void LookAgain(std::int64_t seconds) {
    plan_.look_again_s = std::min(seconds, plan_.look_again_s.value_or(seconds));
  }

  void Remove(const json& object) {
    const json& named = object["metadata"];
    bool is_stuck = false;
    if (IsBeingDeleted(object)) {
      const std::int64_t since = ParseTime(named["deletionTimestamp"]);
      is_stuck = now_s() - since >= kStuckSeconds;
      LookAgain(is_stuck ? kStuckSeconds : kStuckSeconds - (now_s() - since));
      if (!is_stuck) return;
    }
    plan_.remove.push_back(
        {object["apiVersion"], object["kind"], named["name"], named.value("uid", ""), is_stuck});
  }

  void End(const job::Verdict& verdict) {
    if (conditions_.Find(condition::kRunning) != nullptr) {
      Set(condition::kRunning, false, reason::kFinished, "");
    }
    Set(job::Name(verdict.phase), true, verdict.reason, verdict.message);
    parts_["completionTime"] = base::FormatUtc(seen_.now_unix_ns);
    if (seen_.run) {
      plan_.run = RunStep::kDrop;
      run_warnings_ = seen_.run->warnings;
      run_warnings_.resize(std::min(run_warnings_.size(), kRunWarningsMax));
    }
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
      job::ParsedCluster parsed = ClusterOfJob(*seen_.cluster, old_status_);
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
    // Nobody knows how much memory the nodes have: only who asks for it is folded.
    if (problems.empty()) job::FoldJob(0, known_dimensions_, &resolved_, &problems);
    if (problems.empty()) {
      Set(condition::kAccepted, true, reason::kValid, base::Join(parsed_.warnings, "; "));
      agent_servers_ = resolved_.AgentServers();
      accepted_ = true;
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

  // An attempt is over that was not ended by the program: the next one follows, unless it was the
  // last; then the job is judged by `otherwise`.
  void Lose(const Disruption& cause, const job::Verdict& otherwise) {
    const std::uint32_t attempt = parts_.value("attempt", old_status_.value("attempt", 0u));
    const std::uint32_t failed = old_status_.value("failedAttempts", 0u) + 1;
    const std::uint32_t limit = parsed_.spec.backoff_limit;
    parts_["failedAttempts"] = failed;
    if (failed > limit) return End(otherwise);
    ForgetRun();
    if (const std::int64_t pause = PauseSeconds(failed); pause > 0) PutOff(pause);
    Set(condition::kRetried, true, cause.reason,
        StrCat("attempt ", attempt, ": ", cause.message, "; ", failed, " of ", limit,
               " retries (spec.backoffLimit)"));
    Wait(cause.reason, StrCat("begins again: ", cause.message));
    if (conditions_.Find(condition::kRunning) != nullptr) {
      Set(condition::kRunning, false, cause.reason, "");
    }
  }

  // Nothing of the run stays but what it was told and has found.
  void ForgetRun() {
    for (const char* part : kRunParts) parts_.erase(part);
    forgotten_.assign(std::begin(kRunParts), std::end(kRunParts));
    plan_.run = RunStep::kDrop;
    if (seen_.placed) Remove(*seen_.placed);
  }

  void PutOff(std::int64_t seconds) {
    parts_["nextAttemptTime"] = base::FormatUtc(seen_.now_unix_ns + seconds * kSecondNs);
    LookAgain(seconds);
  }

  // Its agents speak to nobody any more, and nobody knows how they are.
  void LoseController() {
    const std::uint32_t failed = old_status_.value("failedAttempts", 0u) + 1;
    const bool was_running = conditions_.Find(condition::kRunning) != nullptr;
    Lose({std::string(reason::kControllerRestarted),
          "the controller that ran the job is gone; its pods are ended first"},
         {job::Phase::kInterrupted, std::string(reason::kControllerRestarted),
          StrCat("the controller was lost in the last of ", failed, " lost attempts")});
    if (!was_running || job::IsOver(conditions_.phase())) return;
    conditions_.Set({.type = std::string(condition::kRunning),
                     .reason = std::string(reason::kControllerRestarted),
                     .message = "the controller that ran the job is gone",
                     .last_transition_time = base::FormatUtc(seen_.now_unix_ns),
                     .observed_generation = metadata().value("generation", std::int64_t{1}),
                     .is_unknown = true});
  }

  void WaitForNetwork() {
    const PodRefusal refusal = RefusalOfNetwork(seen_.network, seen_.cluster, seen_.refused);
    if (!refusal) {
      return Wait(reason::kWaitingForServices,
                  "waiting for the network service of the simulated cluster");
    }
    // A cluster is tried again by itself; a job with its own leaves its place to others.
    if (parsed_.spec.cluster) PutOff(kRefusedSeconds);
    Wait(refusal.reason, StrCat(kNotLetIn, refusal.message));
  }

  // No run in memory: it was never started, or by a controller that is gone, or given up.
  void Begin() {
    if (conditions_.IsTrue(condition::kScheduled)) return LoseController();
    if (seen_.placed) {
      if (conditions_.Find(condition::kScheduled) == nullptr) {
        Wait(reason::kStarting, "pods of an earlier attempt are ended first");
      }
      return Remove(*seen_.placed);
    }
    const std::int64_t put_off = ParseTime(old_status_.value("nextAttemptTime", "")) - now_s();
    if (put_off > 0) return LookAgain(put_off);
    const bool shares_network = !parsed_.spec.cluster;
    if (shares_network && !IsReady(seen_.network)) return WaitForNetwork();
    if (!seen_.gpus) {
      Wait(reason::kWaitingForServices, "waiting for the timing service");
      plan_.look_again_s = kServicesRetrySeconds;
      return;
    }
    if (!seen_.admission.granted) {
      Wait(reason::kQueued, StrCat("waiting: ", seen_.admission.before, " job(s) before this one, ",
                                   seen_.admission.running, " running"));
      return;
    }
    if (!IsReady(seen_.network)) {
      plan_.apply = NetworkObjects(seen_.job, settings_);
      return WaitForNetwork();
    }
    plan_.run = RunStep::kStart;
    plan_.attempt = old_status_.value("attempt", 0u) + 1;
    plan_.resolved = std::move(resolved_);
  }

  void Follow() {
    const RunFacts& run = *seen_.run;
    TakeParts(run);
    forgotten_ = {"nextAttemptTime"};
    if (!old_status_.contains("cluster")) parts_["cluster"] = job::ToJson(resolved_.cluster);
    if (run.verdict) return Judge(*run.verdict);
    if (run.refusal.kind == PodRefusal::Kind::kFails) {
      if (seen_.placed) Remove(*seen_.placed);
      return End({job::Phase::kFailed, run.refusal.reason, run.refusal.message});
    }
    if (!run.placed) plan_.apply = JobObjects(seen_.job, resolved_, run.attempt, settings_);
    for (const json& pod : seen_.pods) pods_.push_back(InspectPod(pod));
    const std::optional<PodRefusal> waiting = FindWaiting(run, pods_, agents());
    if (waiting) {
      Wait(waiting->reason, waiting->message);
    } else {
      Set(condition::kScheduled, true, reason::kPlaced, "");
    }
    if (run.placed) LookAtPods();
    if (plan_.run == RunStep::kDrop) return;
    if (!run.assembled) {
      CheckDeadline();
      if (plan_.run == RunStep::kNone && waiting) CheckPatience(*waiting);
      if (plan_.run == RunStep::kDrop) return;
    }
    if (run.ending) {
      Set(condition::kRunning, conditions_.IsTrue(condition::kRunning), reason::kStopping,
          run.stop_reason);
    } else if (run.assembled) {
      Set(condition::kRunning, true, reason::kStarted, "");
    } else {
      Set(condition::kRunning, false, reason::kStarting, DescribeWaiting(pods_, agents()));
    }
  }

  // A folded job whose ranks have shown to be of more classes begins again with these, which counts
  // as no failed attempt. False: nothing new was found.
  bool BeginAgain(const job::Verdict& verdict) {
    const auto found = job::FindClasses(verdict, known_dimensions_, seen_.run->ranks_differ_by);
    if (!found) return false;
    ForgetRun();
    parts_["foldDimensions"] = job::ToJson(found->dimensions);
    Set(condition::kRunning, false, reason::kClassesFound, "");
    Wait(reason::kClassesFound, found->message);
    return true;
  }

  // A failure is the program's own, unless a pod was taken away from it first, or a service.
  void Judge(const job::Verdict& verdict) {
    std::optional<Disruption> cause;
    if (verdict.phase == job::Phase::kFailed && verdict.reason == reason::kServiceLost) {
      cause = Disruption{verdict.reason, verdict.message};
    } else if (verdict.phase == job::Phase::kFailed && MayBeConsequence(verdict)) {
      cause = seen_.run->disruption;
    }
    if (!cause && BeginAgain(verdict)) return;
    if (!cause) return End(verdict);
    const std::uint32_t limit = parsed_.spec.backoff_limit;
    if (limit == 0) return Lose(*cause, verdict);
    Lose(*cause,
         {job::Phase::kFailed, std::string(reason::kBackoffLimitExceeded),
          StrCat("all of ", limit, " retries (spec.backoffLimit) are used; the last attempt: ",
                 cause->message, ": ", verdict.reason, ": ", verdict.message)});
  }

  // The same of an attempt whose command was not started yet.
  void LoseUnstarted(const Disruption& cause) {
    Lose(cause, {job::Phase::kFailed,
                 parsed_.spec.backoff_limit == 0 ? cause.reason
                                                 : std::string(reason::kBackoffLimitExceeded),
                 StrCat("the command was not started: ", cause.message)});
    if (seen_.placed && plan_.remove.empty()) Remove(*seen_.placed);
  }

  void CheckDeadline() {
    const auto limit = static_cast<std::int64_t>(parsed_.spec.wall_seconds_max);
    if (limit == 0 || seen_.run->admitted_s <= limit) return;
    End({job::Phase::kFailed, std::string(reason::kDeadlineExceeded),
         StrCat("the command was not started within limits.wallSeconds = ", limit,
                " of the job's admission: ", DescribeWaiting(pods_, agents()))});
    if (seen_.placed) Remove(*seen_.placed);
  }

  // Its place goes to others when there is none for its pods. It does not count as a failed
  // attempt.
  void CheckPatience(const PodRefusal& waiting) {
    const auto limit = static_cast<std::int64_t>(parsed_.spec.schedule_seconds_max);
    if (limit == 0 || seen_.run->admitted_s <= limit) return;
    plan_.run = RunStep::kDrop;
    plan_.apply.clear();
    if (seen_.placed) Remove(*seen_.placed);
    forgotten_.clear();
    PutOff(kGivenBackSeconds);
    Set(condition::kRunning, false, waiting.reason, "");
    Wait(waiting.reason,
         StrCat("gave its place to other jobs after limits.scheduleSeconds = ", limit,
                ", is admitted again after ", parts_["nextAttemptTime"].get<std::string>(), ": ",
                waiting.message));
  }

  void LookAtPods() {
    const RunFacts& run = *seen_.run;
    std::vector<bool> present(resolved_.servers);
    for (const PodState& pod : pods_) {
      if (!std::ranges::binary_search(agent_servers_, pod.server)) continue;
      present[pod.server] = true;
      if (pod.ended) {
        plan_.exits.push_back({pod.server, *pod.ended, pod.memory_kill});
      } else if (IsUnreachable(pod)) {
        plan_.exits.push_back({pod.server, "was on a node that does not answer", ""});
      }
      if (!run.assembled && LoseHopeless(pod)) return;
    }
    // What was just created may not have been observed yet.
    const bool no_more =
        seen_.placed ? HasEnded(*seen_.placed) || IsBeingDeleted(*seen_.placed) : run.seen;
    for (const std::uint32_t server : agent_servers_) {
      if (!no_more || present[server]) continue;
      plan_.exits.push_back({server, "lost its pod, which was deleted", ""});
    }
    if (run.assembled || (plan_.exits.empty() && !run.disruption)) return;
    if (run.disruption) return LoseUnstarted(*run.disruption);
    // Nothing of the job's own has run yet.
    const AgentExit& first = plan_.exits.front();
    LoseUnstarted({std::string(reason::kAgentLost),
                   StrCat("the agent of server ", first.server, " ", first.how)});
  }

  // Nobody will tell how it ends: the kubelet of its node says nothing.
  bool IsUnreachable(const PodState& pod) const {
    const std::int64_t deleted = ParseTime(pod.deleted_at);
    if (deleted != 0 && now_s() - deleted >= kStuckSeconds) return true;
    return seen_.run->ending && pod.disruption && pod.disruption->reason == reason::kNodeLost;
  }

  // Returns whether a pod that waits ends the attempt.
  bool LoseHopeless(const PodState& pod) {
    if (const std::string hopeless = HopelessReason(pod); !hopeless.empty()) {
      End({job::Phase::kFailed, hopeless, HopelessMessage(pod)});
      if (seen_.placed) Remove(*seen_.placed);
      return true;
    }
    const std::int64_t started = ParseTime(pod.started_at);
    if (!WaitsForImage(pod) || started == 0 || now_s() - started < kPullSeconds) return false;
    LoseUnstarted({std::string(reason::kImagePullFailed),
                   StrCat("pod ", pod.name, ": ", pod.waiting_message)});
    return true;
  }

  void WriteStatus() {
    json status = old_status_;
    status["observedGeneration"] = metadata().value("generation", std::int64_t{1});
    status["phase"] = job::Name(conditions_.phase());
    status["conditions"] = conditions_.ToJson();
    std::vector<std::string> warnings = parsed_.warnings;
    warnings.insert(warnings.end(), run_warnings_.begin(), run_warnings_.end());
    if (!was_over_ && !warnings.empty()) status["warnings"] = std::move(warnings);
    for (const std::string& part : forgotten_) status.erase(part);
    status.update(parts_);
    if (!status.contains("attempt")) status["attempt"] = 0;
    if (accepted_) status["servers"] = resolved_.servers;
    if (!status.contains("progress")) status["progress"] = {{"iteration", 0}, {"percent", 0}};
    status["predicted"] = PredictedText(status.value("prediction", json::object()));
    if (status != old_status_) plan_.status = std::move(status);
  }

  const ObservedJob& seen_;
  const Settings& settings_;
  const json old_status_;
  const job::ParsedJob parsed_;
  job::Conditions conditions_;
  const bool was_over_;
  // Dimensions by which ranks of a folded job were seen to differ, in attempts before.
  const std::vector<folding::Dimension> known_dimensions_;
  bool accepted_ = false;                     // Now.
  job::ResolvedJob resolved_;                 // Of an accepted job.
  std::vector<std::uint32_t> agent_servers_;  // Of it, ascending.
  json parts_ = json::object();
  std::vector<std::string> forgotten_;  // Parts of the status that are true no longer.
  std::vector<PodState> pods_;
  std::vector<std::string> run_warnings_;
  Plan plan_;
};

}  // namespace

Plan ReconcileJob(const ObservedJob& observed, const Settings& settings) {
  return JobReconciler(observed, settings).Run();
}

}  // namespace eidolon::controller::reconcile
