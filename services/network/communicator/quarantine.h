// Which communicators the ranks of one NVLink domain decide over: all GPUs of theirs lie in it, and
// every transfer that can pass over the links of its GPUs needs one of its live ranks. Once none of
// these starts anything for a while, nothing will disturb what is under way there.
//
// A collective needs all of its members, a send only two of them: hence all ranks of the domain
// count, not one that is a member everywhere, and hence mirrored ranks in the domain must mirror
// live ranks of it: a send of theirs needs the ranks that they mirror and nobody else.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "services/network/topology/topology.h"

namespace eidolon::network::communicator {

// A live rank, by where it is.
struct Decider {
  std::uint32_t server = 0;  // Of the job.
  std::uint32_t device = 0;
  auto operator<=>(const Decider&) const = default;
};

// Quarantine of one job. Not thread safe. The topology outlives it.
class Quarantine {
 public:
  using Id = std::uint64_t;

  // `placement`: position of each server of the job.
  Quarantine(const topology::Topology& topology, std::vector<std::uint32_t> placement)
      : topology_(topology), placement_(std::move(placement)) {}

  // The GPUs of a communicator's members, those of each group of mirrored ranks that does the same,
  // and with which live rank each member acts: itself, or whom it mirrors. All in rank order.
  void Enter(Id id, std::span<const topology::Place> places,
             std::span<const std::vector<topology::Place>> images, std::span<const Decider> acting);
  // Fine for one that is not known.
  void Leave(Id id);

  // The ranks that decide together over the communicator, ascending; none: it is not quarantined.
  std::span<const Decider> DecidersOf(Id id) const;
  // Other communicators whose transfers may pass over the links of this one's domain.
  // Requires: the communicator is quarantined.
  std::vector<Id> RivalsOf(Id id) const;

 private:
  // What a communicator has to do with a domain.
  struct Part {
    std::set<Decider> live;   // Members in the domain, or whom they mirror.
    bool is_decided = false;  // All of these are in the domain.
  };
  struct Domain {
    // Communicators whose transfers may pass over links of GPUs.
    std::map<Id, Part> loading;
    std::vector<Decider> deciders;  // None: somebody else may use the links.
  };

  // The domains whose GPUs' links transfers of a group may pass over, with its part in each.
  void AddGroup(std::span<const topology::Place> places, std::span<const Decider> acting,
                std::map<std::uint32_t, Part>* loaded) const;
  static void FindDeciders(Domain* domain);

  const topology::Topology& topology_;
  std::vector<std::uint32_t> placement_;
  std::map<std::uint32_t, Domain> domains_;
  std::map<Id, std::uint32_t> lie_within_;  // Communicators of one domain alone.
};

}  // namespace eidolon::network::communicator
