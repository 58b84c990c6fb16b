// This reads the metrics that every program has under the names of Prometheus' client libraries
// (process_cpu_seconds_total and so on), and the version of Eidolon. They come from /proc whenever
// the page is read.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace eidolon::runtime {

// Thread safe.
class ProcessMetrics : public prometheus::Collectable {
 public:
  // Returns those of the calling process, without what /proc does not give.
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace eidolon::runtime
