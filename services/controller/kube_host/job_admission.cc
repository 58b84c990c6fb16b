// Admission follows from the jobs that the informer shows, and that picture lags behind. A job that
// has been granted a place still looks as if it waited until its run and its status exist, so
// `admitted_` remembers the grant; without it more jobs than allowed could start. Nothing is
// stored: a new leader computes the same from statuses and creation times. Only jobs near the front
// are looked at when a place gets free, as each look costs a reconciliation.
#include "services/controller/kube_host/job_admission.h"

#include "services/base/utc.h"
#include "services/controller/job/condition.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {

using nlohmann::json;

namespace {

bool MayStart(const json& job) {
  return !IsOver(job) && !job["metadata"].contains("deletionTimestamp") &&
         !job["spec"].value("suspend", false);
}

}  // namespace

std::vector<kube::ObjectPointer> JobAdmission::Queued() const {
  const std::string now = base::FormatUtc(clock_.UnixNs());
  const std::set<std::string> running = runs_.Uids();
  return jobs_.List([&](const json& object) {
    if (!MayStart(object)) return false;
    if (running.contains(UidOf(object))) return true;
    // Times of this form sort as texts.
    return object.value("status", json::object()).value("nextAttemptTime", "") <= now &&
           reconcile::WaitsForAdmission(object);
  });
}

std::map<std::string, reconcile::Admission> JobAdmission::Compute(
    const std::vector<kube::ObjectPointer>& jobs) {
  std::set<std::string> uids;
  for (const auto& object : jobs) uids.insert(UidOf(*object));
  std::erase_if(admitted_, [&](const std::string& uid) { return !uids.contains(uid); });
  const std::set<std::string> running = runs_.Uids();
  std::vector<reconcile::QueuedJob> all;
  for (const auto& object : jobs) {
    const std::string uid = UidOf(*object);
    const json status = object->value("status", json::object());
    const bool active = admitted_.contains(uid) || running.contains(uid) ||
                        status.value("phase", "") == job::Name(job::Phase::kRunning);
    all.push_back({.key = uid,
                   .name_space = (*object)["metadata"].value("namespace", ""),
                   .created = (*object)["metadata"].value("creationTimestamp", ""),
                   .active = active});
  }
  return reconcile::ComputeAdmissions(all, jobs_max_);
}

reconcile::Admission JobAdmission::Ask(const json& job) {
  const std::string own = UidOf(job);
  const auto jobs = Queued();
  const std::lock_guard lock(mutex_);
  const auto admissions = Compute(jobs);
  const auto found = admissions.find(own);
  if (found == admissions.end()) return {.granted = false};
  if (found->second.granted) admitted_.insert(own);
  metrics_.SetQueue(jobs.size() - found->second.running, found->second.running);
  return found->second;
}

void JobAdmission::Release(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  admitted_.erase(uid);
}

void JobAdmission::LookAtWaiting() {
  const auto jobs = Queued();
  std::map<std::string, reconcile::Admission> admissions;
  {
    const std::lock_guard lock(mutex_);
    admissions = Compute(jobs);
  }
  // Those far behind in the queue are looked at when they come nearer.
  const std::size_t near = 4 * jobs_max_;
  for (const auto& object : jobs) {
    if (object->value("status", json::object()).value("phase", "Pending") != "Pending") continue;
    const reconcile::Admission& admission = admissions.at(UidOf(*object));
    if (admission.granted || admission.before < near) look_at_(*object);
  }
  // What they wait for may be there now.
  const std::set<std::string> running = runs_.Uids();
  for (const auto& object : jobs_.List([&](const json& object) {
         return MayStart(object) && !running.contains(UidOf(object)) &&
                !reconcile::WaitsForAdmission(object);
       })) {
    look_at_(*object);
  }
}

}  // namespace eidolon::controller::kube_host
