#include "services/contract/critical_path/links.h"

#include <algorithm>

namespace eidolon::critical_path {

using base::Duration;
using base::Wide;

std::string_view Name(LinkTier tier) {
  static constexpr std::array<std::string_view, kLinkTiers> kNames = {
      "unknown", "latency", "pace",  "nvlink", "pcie",  "bridge", "nic",
      "leaf",    "pod",     "local", "global", "torus", "cable"};
  return kNames[static_cast<std::size_t>(tier)];
}

std::string_view FieldOf(LinkTier tier) {
  static constexpr std::array<std::string_view, kLinkTiers> kFields = {
      "unknown_picoseconds", "latency_picoseconds", "pace_picoseconds",   "nvlink_picoseconds",
      "pcie_picoseconds",    "bridge_picoseconds",  "nic_picoseconds",    "leaf_picoseconds",
      "pod_picoseconds",     "local_picoseconds",   "global_picoseconds", "torus_picoseconds",
      "cable_picoseconds"};
  return kFields[static_cast<std::size_t>(tier)];
}

void TellLast(std::span<const LinkTime> transfer, Duration length,
              const std::function<void(const LinkTime&)>& tell) {
  const auto add = [&tell](LinkTier tier, Duration time) { tell({.time = time, .tier = tier}); };
  Duration latency;
  Duration links;
  for (const LinkTime& link : transfer) {
    (link.tier == LinkTier::kLatency ? latency : links) += link.time;
  }
  const Duration on_links = std::min(length, links);
  const Duration waited = std::min(length - on_links, latency);
  add(LinkTier::kLatency, waited);
  add(LinkTier::kUnknown, length - on_links - waited);
  // Each gets its share of all up to it, less what those before it got: rounding errors cancel out.
  Duration up_to;
  Duration given;
  for (const LinkTime& link : transfer) {
    if (link.tier == LinkTier::kLatency || link.time.ps == 0) continue;
    up_to += link.time;
    const Wide share = static_cast<Wide>(static_cast<std::uint64_t>(up_to.ps)) *
                       static_cast<std::uint64_t>(on_links.ps) /
                       static_cast<std::uint64_t>(links.ps);
    const Duration until{static_cast<std::int64_t>(share)};
    tell({.time = until - given, .tier = link.tier, .link = link.link});
    given = until;
  }
}

}  // namespace eidolon::critical_path
