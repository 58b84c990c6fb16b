#include "services/network/metrics.h"

#include <prometheus/registry.h>

namespace eidolon::network {
namespace {

prometheus::Gauge& Gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : sessions_(Gauge(registry, "eidolon_network_sessions", "Agents connected")),
      queue_messages_(Gauge(registry, "eidolon_network_queue_messages",
                            "Messages that wait for a simulation thread")),
      horizon_lag_(Gauge(registry, "eidolon_network_horizon_lag_seconds",
                         "Virtual time from the horizon to the earliest event behind it")),
      transfers_active_(Gauge(registry, "eidolon_network_flows",
                              "Transfers that were started and have not ended")),
      transfers_(Counter(registry, "eidolon_network_flows_total", "Transfers started")),
      events_(Counter(registry, "eidolon_network_events_total", "Simulated events")),
      clamped_(Counter(registry, "eidolon_network_clamped_total",
                       "Transfers that started before the horizon and were moved to it")),
      releases_(Counter(registry, "eidolon_network_releases_total",
                        "Times the horizon moved because every process slept")),
      failures_(Counter(registry, "eidolon_network_failures_total",
                        "Messages that a communicator failed")),
      deadlocks_(Counter(registry, "eidolon_network_deadlocks_total", "Deadlocks reported")),
      collectives_(prometheus::BuildCounter()
                       .Name("eidolon_network_collectives_total")
                       .Help("Collectives and groups of transfers ended")
                       .Register(registry)) {}

void Metrics::Add(const Statistics& now, const Statistics& before) {
  const auto add = [](prometheus::Counter& counter, std::uint64_t to, std::uint64_t from) {
    counter.Increment(static_cast<double>(to - from));
  };
  add(transfers_, now.transfers, before.transfers);
  add(events_, now.events, before.events);
  add(clamped_, now.clamped, before.clamped);
  add(releases_, now.releases, before.releases);
  add(failures_, now.failures, before.failures);
  add(deadlocks_, now.deadlocks, before.deadlocks);
}

void Metrics::CountEnded(collective::Algorithm algorithm, collective::Protocol protocol) {
  collectives_
      .Add({{"algorithm", std::string(Name(algorithm))}, {"protocol", std::string(Name(protocol))}})
      .Increment();
}

}  // namespace eidolon::network
