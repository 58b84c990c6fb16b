// Metrics that every program has under the names that Prometheus' client libraries give them
// (process_cpu_seconds_total and so on), and the version of Eidolon. They are read from /proc when
// the page is.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace eidolon::runtime {

// Thread safe.
class ProcessMetrics : public prometheus::Collectable {
 public:
  // Of the calling process; without those that /proc does not give.
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace eidolon::runtime
