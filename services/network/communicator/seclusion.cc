#include "services/network/communicator/seclusion.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace eidolon::network::communicator {

using topology::Place;

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

void Seclusion::FindDeciders(std::uint32_t number, Domain* domain) const {
  std::set<Decider> inside;
  for (const auto& [id, members] : domain->loading) {
    bool any = false;
    for (const Decider& member : members) {
      if (topology_.DomainOf(placement_[member.server]) != number) continue;
      any = true;
      inside.insert(member);
    }
    if (any) continue;
    inside.clear();
    break;
  }
  domain->deciders.assign(inside.begin(), inside.end());
}

void Seclusion::Enter(Id id, std::span<const Place> places,
                      std::span<const std::vector<Place>> images,
                      std::vector<Decider> live_members) {
  // A link that fails, or comes back, changes what a transfer takes.
  if (places.empty() || !topology_.changes().empty()) return;
  std::set<std::uint32_t> loaded;
  AddGroup(places, &loaded);
  for (const std::vector<Place>& image : images) AddGroup(image, &loaded);
  for (const std::uint32_t number : loaded) {
    Domain& domain = domains_[number];
    domain.loading[id] = live_members;
    FindDeciders(number, &domain);
  }
  const std::uint32_t home = topology_.DomainOf(places.front().server);
  const bool is_within = std::ranges::all_of(
      places, [&](const Place& place) { return topology_.DomainOf(place.server) == home; });
  if (is_within && images.empty() && loaded.contains(home)) lie_within_[id] = home;
}

void Seclusion::Leave(Id id) {
  for (auto at = domains_.begin(); at != domains_.end();) {
    Domain& domain = at->second;
    if (domain.loading.erase(id) > 0) FindDeciders(at->first, &domain);
    at = domain.loading.empty() ? domains_.erase(at) : std::next(at);
  }
  lie_within_.erase(id);
}

std::span<const Decider> Seclusion::DecidersOf(Id id) const {
  const auto found = lie_within_.find(id);
  if (found == lie_within_.end()) return {};
  return domains_.at(found->second).deciders;
}

std::vector<Seclusion::Id> Seclusion::RivalsOf(Id id) const {
  std::vector<Id> rivals;
  for (const auto& [other, members] : domains_.at(lie_within_.at(id)).loading) {
    if (other != id) rivals.push_back(other);
  }
  return rivals;
}

}  // namespace eidolon::network::communicator
