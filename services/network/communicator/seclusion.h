// Which communicators nobody but one server can disturb: all their GPUs lie in one NVLink domain,
// and every transfer that can pass over these GPUs' links needs a rank of that server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// Of one job. Not thread safe. The topology outlives it.
class Seclusion {
 public:
  using Id = std::uint64_t;

  // `placement`: position of each server; `live_servers`: those that have processes.
  Seclusion(const topology::Topology& topology, std::span<const std::uint32_t> placement,
            std::span<const std::uint32_t> live_servers);

  // The GPUs of a communicator's members, those of each group of ghosts that does the same, and the
  // servers of its live members.
  void Enter(Id id, std::span<const topology::Place> places,
             std::span<const std::vector<topology::Place>> images,
             std::span<const std::uint32_t> servers);
  // Fine for one that is not known.
  void Leave(Id id);

  // The server, if the communicator is secluded.
  std::optional<std::uint32_t> ServerOf(Id id) const;
  // Other communicators whose transfers may pass over the links of this one's domain. All of them
  // need a rank of the server. Requires: the communicator is secluded.
  std::vector<Id> RivalsOf(Id id) const;

 private:
  struct Domain {
    std::uint32_t server = 0;     // The only one with processes.
    std::set<Id> loading;         // Communicators whose transfers may pass over GPUs' links.
    std::set<Id> without_server;  // Those of `loading` that have no live member on the server.
  };

  // Whether transfers of a group may pass over links of GPUs in each domain where it has members.
  void AddGroup(std::span<const topology::Place> places, std::set<std::uint32_t>* loaded) const;

  const topology::Topology& topology_;
  std::map<std::uint32_t, Domain> domains_;  // With exactly one live server.
  std::map<Id, std::uint32_t> lie_within_;   // Communicators of one such domain alone.
};

}  // namespace eidolon::network::communicator
