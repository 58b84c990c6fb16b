#include "services/network/communicator/seclusion.h"

#include <algorithm>

namespace eidolon::network::communicator {

using topology::Place;

Seclusion::Seclusion(const topology::Topology& topology, std::span<const std::uint32_t> placement,
                     std::span<const std::uint32_t> live_servers)
    : topology_(topology) {
  // A link that fails, or comes back, changes what a transfer takes.
  if (!topology_.changes().empty()) return;
  std::set<std::uint32_t> shared;
  for (const std::uint32_t server : live_servers) {
    const std::uint32_t domain = topology_.DomainOf(placement[server]);
    if (!domains_.try_emplace(domain, Domain{.server = server}).second) shared.insert(domain);
  }
  for (const std::uint32_t domain : shared) domains_.erase(domain);
}

void Seclusion::AddGroup(std::span<const Place> places, std::set<std::uint32_t>* loaded) const {
  std::map<std::uint32_t, std::size_t> members;
  bool one_rail = true;
  for (const Place& place : places) {
    ++members[topology_.DomainOf(place.server)];
    one_rail =
        one_rail && topology_.RailOf(place.device) == topology_.RailOf(places.front().device);
  }
  for (const auto& [domain, count] : members) {
    // A GPU alone among its neighbours sends by its NIC, unless the other side is on another rail.
    if (count > 1 || !one_rail) loaded->insert(domain);
  }
}

void Seclusion::Enter(Id id, std::span<const Place> places,
                      std::span<const std::vector<Place>> images,
                      std::span<const std::uint32_t> servers) {
  if (domains_.empty() || places.empty()) return;
  std::set<std::uint32_t> loaded;
  AddGroup(places, &loaded);
  for (const std::vector<Place>& image : images) AddGroup(image, &loaded);
  for (const std::uint32_t number : loaded) {
    const auto found = domains_.find(number);
    if (found == domains_.end()) continue;
    found->second.loading.insert(id);
    if (!(std::ranges::find(servers, found->second.server) != servers.end())) {
      found->second.without_server.insert(id);
    }
  }
  const std::uint32_t home = topology_.DomainOf(places.front().server);
  const bool is_within = images.empty() && std::ranges::all_of(places, [&](const Place& place) {
                           return topology_.DomainOf(place.server) == home;
                         });
  const auto found = domains_.find(home);
  if (!is_within || found == domains_.end()) return;
  if (servers.size() == 1 && servers.front() == found->second.server) lie_within_[id] = home;
}

void Seclusion::Leave(Id id) {
  for (auto& [number, domain] : domains_) {
    domain.loading.erase(id);
    domain.without_server.erase(id);
  }
  lie_within_.erase(id);
}

std::optional<std::uint32_t> Seclusion::ServerOf(Id id) const {
  const auto found = lie_within_.find(id);
  if (found == lie_within_.end()) return std::nullopt;
  const Domain& domain = domains_.at(found->second);
  if (!domain.without_server.empty()) return std::nullopt;
  return domain.server;
}

std::vector<Seclusion::Id> Seclusion::RivalsOf(Id id) const {
  const Domain& domain = domains_.at(lie_within_.at(id));
  std::vector<Id> rivals(domain.loading.begin(), domain.loading.end());
  std::erase(rivals, id);
  return rivals;
}

}  // namespace eidolon::network::communicator
