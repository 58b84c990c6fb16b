// The agent's metrics, made once.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace eidolon::agent::server {

struct Metrics {
  explicit Metrics(prometheus::Registry& registry);

  prometheus::Registry& registry;
  prometheus::Counter& launches;
  prometheus::Counter& iterations;
  prometheus::Counter& estimates_asked;
  prometheus::Counter& unknown_sources;
  prometheus::Counter& clamped_posts;
  prometheus::Counter& log_lines;
  prometheus::Gauge& sessions;
  prometheus::Gauge& open_operations;
  prometheus::Gauge& ring_backlog_bytes;
  prometheus::Gauge& mailbox_tasks;
};

}  // namespace eidolon::agent::server
