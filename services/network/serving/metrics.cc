#include "services/network/serving/metrics.h"

#include <prometheus/registry.h>

namespace eidolon::network::serving {
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
      foreseen_(Counter(registry, "eidolon_network_foreseen_total",
                        "Collectives whose end was told before the horizon came to it")),
      missed_(Counter(registry, "eidolon_network_foreseen_missed_total",
                      "Collectives that ended at another time than was foreseen")),
      releases_(Counter(registry, "eidolon_network_releases_total",
                        "Times the horizon moved because every process slept")),
      failures_(Counter(registry, "eidolon_network_failures_total",
                        "Messages that a communicator failed while all servers of its job ran")),
      deadlocks_(Counter(registry, "eidolon_network_deadlocks_total", "Deadlocks reported")),
      collectives_(prometheus::BuildCounter()
                       .Name("eidolon_network_collectives_total")
                       .Help("Collectives and groups of transfers ended")
                       .Register(registry)),
      link_bytes_(prometheus::BuildCounter()
                      .Name("eidolon_network_link_bytes_total")
                      .Help("Bytes that started transfers carry over the links of a tier")
                      .Register(registry)),
      link_utilisation_(prometheus::BuildGauge()
                            .Name("eidolon_network_link_utilisation_ratio")
                            .Help("Mean use of a tier's capacity over the virtual time so far, of "
                                  "the cluster that reported last")
                            .Register(registry)) {}

void Metrics::SetUtilisation(const simulation::Statistics& now,
                             const std::vector<simulation::Tier>& tiers, double seconds) {
  if (seconds <= 0) return;
  for (std::size_t at = 0; at < tiers.size(); ++at) {
    link_utilisation_.Add({{"tier", tiers[at].name}})
        .Set(now.tier_bytes[at] / (tiers[at].capacity * seconds));
  }
}

void Metrics::Add(const simulation::Statistics& now, const simulation::Statistics& before,
                  const std::vector<simulation::Tier>& tiers) {
  for (std::size_t at = 0; now.transfers != before.transfers && at < tiers.size(); ++at) {
    const double known = at < before.tier_bytes.size() ? before.tier_bytes[at] : 0;
    link_bytes_.Add({{"tier", tiers[at].name}}).Increment(now.tier_bytes[at] - known);
  }
  const auto add = [](prometheus::Counter& counter, std::uint64_t to, std::uint64_t from) {
    counter.Increment(static_cast<double>(to - from));
  };
  add(transfers_, now.transfers, before.transfers);
  add(events_, now.events, before.events);
  add(clamped_, now.clamped, before.clamped);
  add(foreseen_, now.foreseen, before.foreseen);
  add(missed_, now.missed, before.missed);
  add(releases_, now.releases, before.releases);
  add(failures_, now.failures, before.failures);
  add(deadlocks_, now.deadlocks, before.deadlocks);
}

void Metrics::CountEnded(collective::Algorithm algorithm, collective::Protocol protocol) {
  collectives_
      .Add({{"algorithm", std::string(Name(algorithm))}, {"protocol", std::string(Name(protocol))}})
      .Increment();
}

}  // namespace eidolon::network::serving
