// What the API server answers to a new job decides how the sweep goes on. A document that it
// rejects stays rejected: the point is refused. Quota and permissions may change, so they are
// trouble: the sweep waits and tries later. Anything else goes back to the queue with its back-off.
// "Already exists" usually means that the watch lags behind; the owner's uid distinguishes
// our job from another one of that name. After a refusal the plan is made again at once, because
// its place in the concurrency is free.
#include "services/controller/kube_host/sweep_reconciler.h"

#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/summary.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/sweep/change.h"

namespace eidolon::controller::kube_host {

using base::StrCat;
using nlohmann::json;

namespace {

json OwnerOf(const json& sweep) {
  return {{"apiVersion", sweep["apiVersion"]},
          {"kind", sweep["kind"]},
          {"name", sweep["metadata"]["name"]},
          {"uid", sweep["metadata"]["uid"]},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace

kube::Answer<void> SweepReconciler::Create(const json& sweep, json job, Created* created) {
  const std::string name = job["metadata"]["name"];
  job["metadata"]["namespace"] = sweep["metadata"]["namespace"];
  job["metadata"]["ownerReferences"] = json::array({OwnerOf(sweep)});
  const auto done = client_.Create(kube::kSimulationJobs, job);
  if (done) return {};
  const kube::Refusal& refusal = done.error();
  if (refusal.reason == "AlreadyExists") {
    // Ours is one that the watch has not brought yet.
    const auto present = client_.Get(kube::kSimulationJobs, kube::KeyOf(job));
    if (!present) {
      created->trouble = present.error().message;
    } else if (OwnerUidOf(*present) != UidOf(sweep)) {
      const bool is_going = (*present)["metadata"].contains("deletionTimestamp");
      std::string why = StrCat("another simulation job has the name '", name, "'");
      if (is_going) created->trouble = why;
      if (!is_going) created->refused[name] = std::move(why);
    }
    return {};
  }
  if (refusal.status == 400 || refusal.status == 422 || refusal.IsTooLarge()) {
    created->refused[name] = refusal.message;
    return {};
  }
  // Quota, permissions: they may change.
  if (refusal.IsForbidden() || refusal.IsNotFound()) {
    created->trouble = refusal.message;
    return {};
  }
  return std::unexpected(refusal);
}

kube::Answer<void> SweepReconciler::WriteStatus(const json& sweep, const json& status) {
  if (auto written = status_.Write(sweep, status); !written) return written;
  if (!sweep::IsSweepOver({{"status", status}})) return {};
  const kube::ObjectKey key = kube::KeyOf(sweep);
  metrics_.FinishSweep(key.name_space, key.name, status["phase"]);
  const json& last = status["conditions"].back();
  status_.RecordEvent(sweep, {.reason = last["reason"],
                              .message = last["message"],
                              .warning = status["phase"] == "Failed"});
  return {};
}

kube::Answer<SweepReconciler::Next> SweepReconciler::Reconcile(const kube::ObjectKey& key) {
  const kube::ObjectPointer found = sweeps_.Find(key);
  if (found == nullptr) {
    status_.Forget(std::string(sweep::kSweepKind), key);
    metrics_.ForgetSweep(key.name_space, key.name);
    return Next::kNothing;
  }
  const json& sweep = *found;
  if (sweep::IsSweepOver(sweep) || sweep["metadata"].contains("deletionTimestamp")) {
    return Next::kNothing;
  }
  if (status_.IsBehind(sweep)) return Next::kSoon;
  const std::string now = base::FormatUtc(clock_.UnixNs());
  sweep::ParsedSweep parsed =
      sweep::ParseSweep(reconcile::DocumentOf(sweep), job::Mode::kKubernetes);
  const json status = sweep.value("status", json::object());
  if (status.contains("observedGeneration") &&
      status["observedGeneration"] != sweep["metadata"].value("generation", std::int64_t{1}) &&
      status.value("fixedDigest", "") != sweep::FixedDigestOf(sweep)) {
    parsed.problems.push_back({"/spec",
                               "was changed in more than suspend and concurrency after the sweep "
                               "had begun: delete it and "
                               "create another"});
  }
  if (!parsed.problems.empty()) {
    const auto refusal = sweep::RefuseSweep(sweep, parsed.problems, now);
    if (!refusal) return Next::kNothing;
    if (auto written = WriteStatus(sweep, *refusal); !written) {
      return std::unexpected(written.error());
    }
    return Next::kNothing;
  }
  sweep::ObservedSweep observed{.sweep = sweep,
                                .spec = parsed.spec,
                                .jobs = {},
                                .refused = {},
                                .recording_of = nullptr,
                                .trouble = "",
                                .now = now};
  const std::string uid = UidOf(sweep);
  for (const auto& job : jobs_.List([&](const json& object) {
         return kube::KeyOf(object).name_space == key.name_space && OwnerUidOf(object) == uid;
       })) {
    observed.jobs[kube::KeyOf(*job).name] =
        job::SummaryOf(*job, job->value("status", json::object()));
  }
  sweep::SweepPlan plan = sweep::PlanSweep(observed);
  Created created;
  for (const json& job : plan.create) {
    if (auto done = Create(sweep, job, &created); !done) return std::unexpected(done.error());
    if (!created.trouble.empty()) break;
  }
  const bool again = !created.refused.empty();
  if (again || !created.trouble.empty()) {
    observed.refused = std::move(created.refused);
    observed.trouble = created.trouble;
    plan = sweep::PlanSweep(observed);
  }
  metrics_.SetSweep(key.name_space, key.name,
                    sweep::PointsByPhase(plan.status ? json{{"status", *plan.status}} : sweep));
  metrics_.SetSweepSuspended(key.name_space, key.name, parsed.spec.suspend);
  if (plan.status) {
    if (auto written = WriteStatus(sweep, *plan.status); !written) {
      return std::unexpected(written.error());
    }
  }
  // What was refused has left its place to others.
  if (again) return Next::kSoon;
  return created.trouble.empty() ? Next::kNothing : Next::kLater;
}

}  // namespace eidolon::controller::kube_host
