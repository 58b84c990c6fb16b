// Takes sweeps through on Kubernetes: a SimulationJob for each point, owned by its SimulationSweep,
// so that it goes with it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "services/base/clock.h"
#include "services/controller/kube/client.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube_host/status_writer.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::kube_host {

// Thread safe, for different sweeps; it keeps nothing. What it is given must outlive it.
class SweepReconciler {
 public:
  SweepReconciler(const base::RealClock& clock, kube::Client& client, const kube::Informer& sweeps,
                  const kube::Informer& jobs, StatusWriter& status, metrics::Metrics& metrics)
      : clock_(clock),
        client_(client),
        sweeps_(sweeps),
        jobs_(jobs),
        status_(status),
        metrics_(metrics) {}

  enum class Next { kNothing, kSoon, kLater };  // When to look again, even if nothing changes.
  kube::Answer<Next> Reconcile(const kube::ObjectKey& key);

 private:
  struct Created {
    std::map<std::string, std::string> refused;  // Jobs that can never be created: why.
    std::string trouble;                         // Or not now.
  };
  kube::Answer<void> Create(const nlohmann::json& sweep, nlohmann::json job, Created* created);
  kube::Answer<void> WriteStatus(const nlohmann::json& sweep, const nlohmann::json& status);

  const base::RealClock& clock_;
  kube::Client& client_;
  const kube::Informer& sweeps_;
  const kube::Informer& jobs_;
  StatusWriter& status_;
  metrics::Metrics& metrics_;
};

}  // namespace eidolon::controller::kube_host
