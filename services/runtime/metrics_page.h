// The Prometheus page of a service process: one registry, and the metrics of the process itself,
// served as text. Families are made once by
// the service's metrics.{h,cc} and passed by reference.
#pragma once

#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/runtime/metrics_listener.h"
#include "services/runtime/process_metrics.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace eidolon::runtime {

// Thread safe. Outlives every metric made from its registry.
class MetricsPage {
 public:
  MetricsPage();
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  prometheus::Registry& registry() { return *registry_; }

  // The page in Prometheus' text format 0.0.4.
  std::string Text() const;

  // Serves the page at http://<address>/metrics ("127.0.0.1:9464"; port 0 takes a free one) until
  // this object ends. Call at most once. Returns the port.
  base::Result<int> Expose(const std::string& address);

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  const ProcessMetrics process_;
  const base::SystemClock clock_;
  std::unique_ptr<MetricsListener> listener_;
};

}  // namespace eidolon::runtime
