// A fabric of leaves and spines is regular, so links are numbered by arithmetic and a route is
// computed from two ports: even a large cluster needs no routing table. Without ECMP the cables of
// a leaf are one wide link, which is what perfect spreading gives. With ECMP each spine has its own
// link, and a hash of the queue pair chooses one; up and down use the same spine, so both come from
// one hash. Even numbers go up, odd ones down.
#include "services/network/topology/tiers.h"

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"

namespace eidolon::network::topology {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

Tiers::Tiers(const Plan& plan) : plan_(plan) {
  const FabricSize& size = plan.size;
  const std::uint32_t groups = (size.servers + plan.servers_per_leaf - 1) / plan.servers_per_leaf;
  leaves_ = plan.by_rail ? groups * size.rails : groups;
  const double nics = plan.by_rail ? plan.servers_per_leaf
                                   : static_cast<double>(plan.servers_per_leaf) * size.rails;
  capacities_.assign(std::size_t{2} * leaves_ * plan.parallel,
                     SummedCapacity(size.rail_rate, nics / plan.parallel, plan.oversubscription));
  first_pod_ = static_cast<LinkIndex>(capacities_.size());
  if (plan.leaves_per_pod == 0) return;
  const std::uint32_t pods = (leaves_ + plan.leaves_per_pod - 1) / plan.leaves_per_pod;
  capacities_.insert(
      capacities_.end(), std::size_t{2} * pods,
      SummedCapacity(size.rail_rate, nics * plan.leaves_per_pod, plan.oversubscription));
}

std::uint32_t Tiers::LeafOf(Port port) const {
  const std::uint32_t group = port.server / plan_.servers_per_leaf;
  return plan_.by_rail ? group * plan_.size.rails + port.rail : group;
}

void Tiers::Append(Port from, Port to, std::uint32_t pair, LinkIndex first, Route& route) const {
  const std::uint32_t source = LeafOf(from);
  const std::uint32_t target = LeafOf(to);
  if (source == target) return;
  // The way up and the way down meet in the same spine.
  const std::uint32_t spine = plan_.parallel > 1 ? SpreadHash(from, to, pair) % plan_.parallel : 0;
  route.Append(first + 2 * (source * plan_.parallel + spine));
  if (plan_.leaves_per_pod > 0) {
    const std::uint32_t source_pod = source / plan_.leaves_per_pod;
    const std::uint32_t target_pod = target / plan_.leaves_per_pod;
    if (source_pod != target_pod) {
      route.Append(first + first_pod_ + 2 * source_pod);
      route.Append(first + first_pod_ + 2 * target_pod + 1);
    }
  }
  route.Append(first + 2 * (target * plan_.parallel + spine) + 1);
}

std::string Tiers::LinkName(LinkIndex link) const {
  const char* direction = link % 2 == 0 ? ", up" : ", down";
  if (link >= first_pod_) return StrCat("pod ", (link - first_pod_) / 2, direction);
  const std::uint32_t at = link / 2;
  if (plan_.parallel == 1) return StrCat("leaf ", at, direction);
  return StrCat("leaf ", at / plan_.parallel, direction, " to spine ", at % plan_.parallel);
}

std::uint32_t Tiers::PartsOf(LinkIndex link) const {
  return link < first_pod_ && plan_.parallel > 1 ? 1 : plan_.spines;
}

std::string Tiers::PartName(LinkIndex link, std::uint32_t part) const {
  return StrCat(LinkName(link), link < first_pod_ ? " to spine " : " to core ", part);
}

std::vector<Fabric::Edge> Tiers::Edges() const {
  std::vector<Edge> edges;
  for (std::uint32_t server = 0; server < plan_.size.servers; ++server) {
    for (std::uint32_t rail = 0; rail < (plan_.by_rail ? plan_.size.rails : 1); ++rail) {
      const std::uint64_t nics = plan_.by_rail ? 1 : plan_.size.rails;
      edges.push_back({StrCat("server ", server), StrCat("leaf ", LeafOf({server, rail})),
                       plan_.size.rail_rate * nics});
    }
  }
  if (leaves_ < 2) return edges;
  for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) {
    for (std::uint32_t spine = 0; spine < plan_.parallel; ++spine) {
      const std::string above = plan_.leaves_per_pod > 0
                                    ? StrCat("pod ", leaf / plan_.leaves_per_pod)
                                : plan_.parallel > 1 ? StrCat("spine ", spine)
                                                     : std::string("spines");
      edges.push_back(
          {StrCat("leaf ", leaf), above, capacities_[2 * (leaf * plan_.parallel + spine)]});
    }
  }
  for (LinkIndex link = first_pod_; link < capacities_.size(); link += 2) {
    edges.push_back({StrCat("pod ", (link - first_pod_) / 2), "core", capacities_[link]});
  }
  return edges;
}

std::string_view Tiers::TierOf(LinkIndex link) const { return link < first_pod_ ? "leaf" : "pod"; }

base::Result<void> CheckTiers(const FabricSpec& spec) {
  struct Field {
    const char* name;
    std::uint32_t value;
  };
  for (const Field& field :
       {Field{"cardsPerLeaf", spec.cards_per_leaf}, Field{"leavesPerPod", spec.leaves_per_pod},
        Field{"spines", spec.spines}}) {
    if (field.value < 1 || field.value > cluster::kTierMax) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("fabric.", field.name, " is ", field.value, "; it must be between 1 and ",
                         cluster::kTierMax));
    }
  }
  return {};
}

}  // namespace eidolon::network::topology
