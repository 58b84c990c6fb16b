// The network service's families on the metrics page.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "services/network/collective/kind.h"
#include "services/network/simulation/simulation.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace eidolon::network::serving {

// Made once and shared by all clusters of a service. Thread safe. The registry outlives it.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  // Adds the work of one cluster's simulation since the last report.
  void Add(const simulation::Statistics& now, const simulation::Statistics& before,
           const std::vector<simulation::Tier>& tiers);
  // `seconds` of virtual time since the cluster's start.
  void SetUtilisation(const simulation::Statistics& now, const std::vector<simulation::Tier>& tiers,
                      double seconds);
  void CountEnded(collective::Algorithm algorithm, collective::Protocol protocol);

  prometheus::Gauge& sessions() { return sessions_; }
  prometheus::Gauge& queue_messages() { return queue_messages_; }
  prometheus::Gauge& horizon_lag() { return horizon_lag_; }
  prometheus::Gauge& transfers_active() { return transfers_active_; }

 private:
  prometheus::Gauge& sessions_;
  prometheus::Gauge& queue_messages_;
  prometheus::Gauge& horizon_lag_;
  prometheus::Gauge& transfers_active_;
  prometheus::Counter& transfers_;
  prometheus::Counter& events_;
  prometheus::Counter& clamped_;
  prometheus::Counter& foreseen_;
  prometheus::Counter& missed_;
  prometheus::Counter& releases_;
  prometheus::Counter& failures_;
  prometheus::Counter& deadlocks_;
  prometheus::Family<prometheus::Counter>& collectives_;
  prometheus::Family<prometheus::Counter>& link_bytes_;
  prometheus::Family<prometheus::Gauge>& link_utilisation_;
};

}  // namespace eidolon::network::serving
