// Which communicators single ranks decide over: all GPUs of theirs lie in one NVLink domain, and
// every transfer that can pass over the links of that domain's GPUs needs those ranks. Once such a
// rank starts nothing more for a while, nothing will disturb what is under way there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// A live rank, by where it is.
struct Decider {
  std::uint32_t server = 0;  // Of the job.
  std::uint32_t device = 0;
  auto operator<=>(const Decider&) const = default;
};

// Of one job. Not thread safe. The topology outlives it.
class Seclusion {
 public:
  using Id = std::uint64_t;

  explicit Seclusion(const topology::Topology& topology) : topology_(topology) {}

  // The GPUs of a communicator's members, those of each group of ghosts that does the same, and its
  // live members, ascending.
  void Enter(Id id, std::span<const topology::Place> places,
             std::span<const std::vector<topology::Place>> images,
             std::vector<Decider> live_members);
  // Fine for one that is not known.
  void Leave(Id id);

  // The ranks that decide over the communicator, ascending; none: it is not secluded.
  std::span<const Decider> DecidersOf(Id id) const;
  // Other communicators whose transfers may pass over the links of this one's domain.
  // Requires: the communicator is secluded.
  std::vector<Id> RivalsOf(Id id) const;

 private:
  struct Domain {
    // Communicators whose transfers may pass over links of GPUs, with their live members.
    std::map<Id, std::vector<Decider>> loading;
    std::vector<Decider> deciders;  // Live members of all of them.
  };

  // The domains whose GPUs' links transfers of a group may pass over.
  void AddGroup(std::span<const topology::Place> places, std::set<std::uint32_t>* loaded) const;
  static void FindDeciders(Domain* domain);

  const topology::Topology& topology_;
  std::map<std::uint32_t, Domain> domains_;
  std::map<Id, std::uint32_t> lie_within_;  // Communicators of one domain alone.
};

}  // namespace eidolon::network::communicator
