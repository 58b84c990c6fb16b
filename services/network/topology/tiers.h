// Networks of leaves under spines, with or without pods in between: the arithmetic that
// rail-optimised, leaf-spine and fat-tree networks share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/network/topology/fabric.h"

namespace eidolon::network::topology {

// Links: for each leaf `parallel` up and down, then for each pod one up and one down.
class Tiers final : public Fabric {
 public:
  struct Plan {
    FabricSize size;
    bool by_rail = false;  // A leaf takes one rail, else all NICs of a server.
    std::uint32_t servers_per_leaf = 1;
    std::uint32_t leaves_per_pod = 0;  // 0: no pods.
    std::uint32_t parallel = 1;        // Links of a leaf that routing tells apart: all or none.
    std::uint32_t spines = 1;          // Links of a leaf.
    double oversubscription = 1;
  };
  explicit Tiers(const Plan& plan);

  void Append(Port from, Port to, std::uint32_t pair, LinkIndex first, Route& route) const override;
  std::string LinkName(LinkIndex link) const override;
  std::uint32_t PartsOf(LinkIndex link) const override;
  std::string PartName(LinkIndex link, std::uint32_t part) const override;
  std::string_view TierOf(LinkIndex link) const override;
  std::vector<Edge> Edges() const override;
  bool Splits() const override { return plan_.parallel > 1; }

 private:
  std::uint32_t LeafOf(Port port) const;

  Plan plan_;
  std::uint32_t leaves_ = 0;
  LinkIndex first_pod_ = 0;
};

// Fails when a field of leaves and spines makes no sense.
base::Result<void> CheckTiers(const FabricSpec& spec);

}  // namespace eidolon::network::topology
