// Reports the traffic on the links of a server whose agent wants to show it.
#include <iterator>
#include <utility>

#include "services/base/text.h"
#include "services/network/flow/flow_spec.h"
#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {

using base::SimTime;
using base::StrCat;

std::vector<ServerLink> Simulation::LinksOf(std::uint32_t position) const {
  const topology::Wiring& wiring = topology_.wiring();
  const std::vector<std::uint8_t> tiers = topology_.TierNumbers();
  std::vector<ServerLink> links;
  const auto add = [&](std::uint32_t number, bool is_inbound, topology::LinkIndex link) {
    links.push_back({.tier = static_cast<topology::LinkTier>(tiers[link]),
                     .number = number,
                     .is_inbound = is_inbound,
                     .link = link});
  };
  for (std::uint32_t device = 0; device < wiring.cluster.gpus_per_server; ++device) {
    add(device, false, topology_.GpuUp({position, device}));
    add(device, true, topology_.GpuDown({position, device}));
  }
  for (std::uint32_t rail = 0; rail < wiring.rails; ++rail) {
    add(rail, false, topology_.NicOut(position, rail));
    add(rail, true, topology_.NicIn(position, rail));
  }
  return links;
}

std::string Simulation::LinkName(topology::LinkIndex link) const {
  return link < topology_.LinkCount() ? topology_.LinkName(link) : "";
}

void Simulation::KeepLoads(std::uint64_t job, std::uint32_t server) {
  Entry& entry = Job(job);
  if (!entry.keeps_loads.insert(server).second) return;
  for (const ServerLink& link : LinksOf(entry.job.PositionOf(server))) transfers_.Watch(link.link);
}

base::Result<LinkLoads> Simulation::ReadLoads(std::uint64_t job, std::uint32_t server, SimTime from,
                                              SimTime to) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.keeps_loads.contains(server)) {
    return base::Fail(base::ErrorCode::kNotFound,
                      StrCat("no loads of links are kept for server ", server, " of the job"));
  }
  const SimTime epoch = found->second.epoch;
  const base::Duration since = epoch - SimTime{};
  LinkLoads loads{.links = LinksOf(found->second.job.PositionOf(server)), .changes = {}};
  std::vector<topology::LinkIndex> links;
  std::map<topology::LinkIndex, std::uint32_t> places;
  for (const ServerLink& link : loads.links) {
    places[link.link] = static_cast<std::uint32_t>(links.size());
    links.push_back(link.link);
  }
  for (const flow::LoadChange& change :
       transfers_.LoadsOf(links, flow::Later(from, since), flow::Later(to, since))) {
    loads.changes.push_back({.link = places.at(change.link),
                             .at = SimTime{} + (change.at - epoch),
                             .bytes_per_second = change.load >> flow::kRateBits});
  }
  return loads;
}

}  // namespace eidolon::network::simulation
