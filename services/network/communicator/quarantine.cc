#include "services/network/communicator/quarantine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/base/check.h"

namespace eidolon::network::communicator {

using topology::Place;

void Quarantine::AddGroup(std::span<const Place> places, std::span<const Decider> acting,
                          std::map<std::uint32_t, Part>* loaded) const {
  std::map<std::uint32_t, std::size_t> members;
  bool one_rail = true;
  for (const Place& place : places) {
    ++members[topology_.DomainOf(place.server)];
    one_rail =
        one_rail && topology_.RailOf(place.device) == topology_.RailOf(places.front().device);
  }
  // A GPU alone among its neighbours sends by its NIC, unless the other side is on another rail.
  const auto is_loaded = [&](std::uint32_t domain) { return !one_rail || members[domain] > 1; };
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const std::uint32_t domain = topology_.DomainOf(places[rank].server);
    if (!is_loaded(domain)) continue;
    Part& part = loaded->try_emplace(domain, Part{.is_decided = true}).first->second;
    part.live.insert(acting[rank]);
    if (topology_.DomainOf(placement_[acting[rank].server]) != domain) part.is_decided = false;
  }
}

void Quarantine::FindDeciders(Domain* domain) {
  std::set<Decider> inside;
  for (const auto& [id, part] : domain->loading) {
    if (!part.is_decided) {
      inside.clear();
      break;
    }
    inside.insert(part.live.begin(), part.live.end());
  }
  domain->deciders.assign(inside.begin(), inside.end());
}

void Quarantine::Enter(Id id, std::span<const Place> places,
                       std::span<const std::vector<Place>> images,
                       std::span<const Decider> acting) {
  // A link that fails, or comes back, changes what a transfer takes.
  if (places.empty() || !topology_.changes().empty()) return;
  CHECK(places.size() == acting.size());
  std::map<std::uint32_t, Part> loaded;
  AddGroup(places, acting, &loaded);
  for (const std::vector<Place>& image : images) AddGroup(image, acting, &loaded);
  const std::uint32_t home = topology_.DomainOf(places.front().server);
  const bool is_within = std::ranges::all_of(
      places, [&](const Place& place) { return topology_.DomainOf(place.server) == home; });
  if (is_within && images.empty() && loaded.contains(home)) lie_within_[id] = home;
  for (auto& [number, part] : loaded) {
    Domain& domain = domains_[number];
    domain.loading[id] = std::move(part);
    FindDeciders(&domain);
  }
}

void Quarantine::Leave(Id id) {
  for (auto at = domains_.begin(); at != domains_.end();) {
    Domain& domain = at->second;
    if (domain.loading.erase(id) > 0) FindDeciders(&domain);
    at = domain.loading.empty() ? domains_.erase(at) : std::next(at);
  }
  lie_within_.erase(id);
}

std::span<const Decider> Quarantine::DecidersOf(Id id) const {
  const auto found = lie_within_.find(id);
  if (found == lie_within_.end()) return {};
  return domains_.at(found->second).deciders;
}

std::vector<Quarantine::Id> Quarantine::RivalsOf(Id id) const {
  std::vector<Id> rivals;
  for (const auto& [other, members] : domains_.at(lie_within_.at(id)).loading) {
    if (other != id) rivals.push_back(other);
  }
  return rivals;
}

}  // namespace eidolon::network::communicator
