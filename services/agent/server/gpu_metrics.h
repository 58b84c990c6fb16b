// What the emulated GPUs of this server do, under the names and labels of NVIDIA's dcgm-exporter,
// so that its dashboards show them. Figures are those that NVML gives (sensors.h), at the latest
// clock of the server's ranks.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <vector>

#include "services/agent/server/job_parts.h"
#include "services/agent/server/processes.h"

namespace eidolon::agent::server {

// Main loop only.
class GpuMetrics {
 public:
  // `job` outlives it.
  GpuMetrics(prometheus::Registry* registry, const JobParts* job);

  void Show(const Processes& processes);

 private:
  struct Gpu {
    // In the order of the tables in gpu_metrics.cc; null where the GPU has no such sensor.
    std::vector<prometheus::Gauge*> gauges;
    std::vector<prometheus::Counter*> counters;
  };

  const JobParts* job_;
  std::vector<Gpu> gpus_;
};

}  // namespace eidolon::agent::server
