#include "services/agent/server/metrics.h"

namespace eidolon::agent::server {

namespace {

prometheus::Counter& Count(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}
prometheus::Gauge& Level(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

Metrics::Metrics(prometheus::Registry& where)
    : registry(where),
      launches(Count(registry, "eidolon_agent_launches_total",
                     "Launches that ranks of this server made.")),
      iterations(
          Count(registry, "eidolon_agent_iterations_total", "Iterations reported, of all ranks.")),
      estimates_asked(Count(registry, "eidolon_agent_estimates_asked_total",
                            "Distinct work definitions sent to the timing service.")),
      unknown_sources(Count(registry, "eidolon_agent_unknown_sources_total",
                            "Estimates whose source was missing or unknown, taken as assumed.")),
      clamped_posts(Count(registry, "eidolon_agent_clamped_posts_total",
                          "Collectives whose ready time lay before what was settled.")),
      log_lines(Count(registry, "eidolon_agent_log_lines_total",
                      "Lines that the job's processes wrote.")),
      sessions(Level(registry, "eidolon_agent_sessions", "Processes with emulated GPUs.")),
      open_operations(Level(registry, "eidolon_agent_open_operations",
                            "Operations that wait for a collective.")),
      ring_backlog_bytes(Level(registry, "eidolon_agent_ring_backlog_bytes",
                               "Bytes in the rings that were not applied yet.")),
      mailbox_tasks(
          Level(registry, "eidolon_agent_mailbox_letters", "Tasks that wait for the main loop.")) {}

}  // namespace eidolon::agent::server
