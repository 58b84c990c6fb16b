// The network between the servers of a cluster, as its owner describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace eidolon::cluster {

// Adaptive routing and spraying use parallel links evenly, so they count as one link of their
// summed capacity. Static routing (ECMP) puts each queue pair on one of them, by a hash.
enum class Routing { kAdaptive, kEcmp };

// Fields that a kind has no use for stay 0.
struct FabricSpec {
  std::string kind = "none";
  double oversubscription = 1;  // 2: half of the bandwidth above the leaves.
  Routing routing = Routing::kAdaptive;
  std::uint32_t cards_per_leaf = 32;  // Of NICs: rail-optimised, fat tree, leaf-spine.
  std::uint32_t leaves_per_pod = 32;  // Fat tree.
  std::uint32_t spines = 8;           // Parallel links above a leaf.
  // Dragonfly.
  std::uint32_t servers_per_router = 4;
  std::uint32_t routers_per_group = 8;
  // Torus: servers along each dimension; their product is the number of servers.
  std::vector<std::uint32_t> dimensions;
  // Dragonfly and torus: Gbit/s of one link between routers; 0: that of a server's NICs together.
  double link_gigabits_per_second = 0;

  // Arbitrary graph: switches by number, cables between them, and where the NICs are plugged in.
  struct Cable {
    std::uint32_t a = 0, b = 0;
    double gigabits_per_second = 0;
    bool operator==(const Cable&) const = default;
  };
  struct Plug {
    std::uint32_t server = 0, rail = 0, at = 0;
    bool operator==(const Plug&) const = default;
  };
  std::vector<std::string> switches;
  std::vector<Cable> cables;
  std::vector<Plug> plugs;

  bool operator==(const FabricSpec&) const = default;
};

// A link that gets slower, fails (0) or recovers (1) at a virtual time.
struct Fault {
  double at_seconds = 0;
  // Name of the link at the network; without the part behind its comma: in both directions.
  std::string link;
  double capacity_factor = 1;
  bool operator==(const Fault&) const = default;
};

// Traffic of others that never ends, between two NICs of one rail.
struct Background {
  std::uint32_t from = 0, to = 0;  // Servers.
  std::uint32_t rail = 0;
  double gigabits_per_second = 0;  // At most; it shares links like any other.
  std::uint32_t weight = 8;        // Against a collective's channels.
  bool operator==(const Background&) const = default;
};

// The kinds of networks but for "none", which connects nothing.
inline const std::vector<std::string>& FabricKinds() {
  static const std::vector<std::string> kinds = {"rail-optimised", "fat-tree", "leaf-spine",
                                                 "dragonfly",      "torus",    "graph"};
  return kinds;
}

}  // namespace eidolon::cluster
