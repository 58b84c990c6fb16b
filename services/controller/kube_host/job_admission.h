// Which jobs may have agents: as many at a time as the controller is told, in the order of
// reconcile/admission.h.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube_host/run_registry.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/reconcile/admission.h"

namespace eidolon::controller::kube_host {

// Thread safe. What it is given must outlive it. Locks: its own, then the registry's.
class JobAdmission {
 public:
  // `look_at` puts a job into the work queue.
  JobAdmission(std::size_t jobs_max, const base::RealClock& clock, const kube::Informer& jobs,
               RunRegistry& runs, metrics::Metrics& metrics,
               std::function<void(const nlohmann::json& job)> look_at)
      : jobs_max_(jobs_max),
        clock_(clock),
        jobs_(jobs),
        runs_(runs),
        metrics_(metrics),
        look_at_(std::move(look_at)) {}

  // Returns whether the job may start, and how many are before it. Once granted it stays so.
  reconcile::Admission Ask(const nlohmann::json& job);
  // The job needs its place no longer.
  void Release(const std::string& uid);
  // Looks at the jobs that have been granted a place since, and at those that come soon.
  void LookAtWaiting();

 private:
  // Jobs that wait for admission or run; not those that left their place to others for a while.
  std::vector<kube::ObjectPointer> Queued() const;
  // Computes admissions by uid. Requires: mutex_ is held.
  std::map<std::string, reconcile::Admission> Compute(const std::vector<kube::ObjectPointer>& jobs);

  const std::size_t jobs_max_;
  const base::RealClock& clock_;
  const kube::Informer& jobs_;
  RunRegistry& runs_;
  metrics::Metrics& metrics_;
  const std::function<void(const nlohmann::json& job)> look_at_;

  std::mutex mutex_;                // Guards what follows.
  std::set<std::string> admitted_;  // Uids.
};

}  // namespace eidolon::controller::kube_host
