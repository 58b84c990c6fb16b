// Groups of routers that all know each other; every pair of groups shares its global links. A route
// crosses at most one global link, and a local one on either side.
#include "services/base/text.h"
#include "services/contract/cluster/limits.h"
#include "services/network/topology/detour.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Links: local ones by group, from, to; then global ones by from group, to group.
class Dragonfly final : public Fabric {
 public:
  Dragonfly(const FabricSpec& spec, const FabricSize& size, std::uint32_t groups)
      : servers_per_router_(spec.servers_per_router),
        routers_(spec.routers_per_group),
        groups_(groups),
        size_(size) {
    const double nics = size.rails;
    const std::uint64_t local =
        spec.link_gigabits_per_second > 0
            ? static_cast<std::uint64_t>(spec.link_gigabits_per_second * 1e9 / 8)
            : SummedCapacity(size.rail_rate, nics * servers_per_router_, 1);
    capacities_.assign(std::size_t{groups} * routers_ * routers_, local);
    first_global_ = static_cast<LinkIndex>(capacities_.size());
    // Rate at which a group's servers can send, spread over the other groups.
    const double leaving = nics * servers_per_router_ * routers_;
    const std::uint64_t global =
        SummedCapacity(size.rail_rate, leaving / std::max(1u, groups - 1), spec.oversubscription);
    capacities_.insert(capacities_.end(), std::size_t{groups} * groups, global);
  }

  void Append(Port from, Port to, std::uint32_t, LinkIndex first, Route& route) const override {
    const std::uint32_t source = from.server / servers_per_router_;
    const std::uint32_t target = to.server / servers_per_router_;
    const std::uint32_t source_group = source / routers_;
    const std::uint32_t target_group = target / routers_;
    if (source_group == target_group) {
      AppendLocal(source_group, source % routers_, target % routers_, first, route);
      return;
    }
    // The routers that hold the cables between the two groups.
    AppendLocal(source_group, source % routers_, target_group % routers_, first, route);
    route.Append(first + first_global_ + source_group * groups_ + target_group);
    AppendLocal(target_group, source_group % routers_, target % routers_, first, route);
  }

  std::string LinkName(LinkIndex link) const override {
    if (link >= first_global_) {
      const std::uint32_t at = link - first_global_;
      return StrCat("group ", at / groups_, " to group ", at % groups_);
    }
    const std::uint32_t pair = link % (routers_ * routers_);
    return StrCat("router ", pair / routers_, " to router ", pair % routers_, " of group ",
                  link / (routers_ * routers_));
  }
  bool Blocks() const override { return true; }
  std::shared_ptr<const Fabric> Without(const std::vector<bool>& failed) const override {
    std::vector<Wire> wires;
    for (std::uint32_t group = 0; group < groups_; ++group) {
      const std::uint32_t base = group * routers_;
      for (std::uint32_t pair = 0; pair < routers_ * routers_; ++pair) {
        const std::uint32_t from = pair / routers_;
        const std::uint32_t to = pair % routers_;
        if (from != to) wires.push_back({base + from, base + to, base * routers_ + pair});
      }
      for (std::uint32_t other = 0; other < groups_; ++other) {
        if (other == group) continue;
        wires.push_back({base + other % routers_, other * routers_ + group % routers_,
                         first_global_ + group * groups_ + other});
      }
    }
    return std::make_shared<Detour>(std::make_shared<Dragonfly>(*this), wires, groups_ * routers_,
                                    servers_per_router_, failed);
  }
  std::vector<Edge> Edges() const override {
    std::vector<Edge> edges;
    const auto router = [&](std::uint32_t group, std::uint32_t at) {
      return StrCat("router ", group, ".", at);
    };
    for (std::uint32_t server = 0; server < size_.servers; ++server) {
      const std::uint32_t at = server / servers_per_router_;
      edges.push_back({StrCat("server ", server), router(at / routers_, at % routers_),
                       size_.rail_rate * size_.rails});
    }
    for (std::uint32_t group = 0; group < groups_; ++group) {
      for (std::uint32_t a = 0; a < routers_; ++a) {
        for (std::uint32_t b = a + 1; b < routers_; ++b) {
          edges.push_back({router(group, a), router(group, b), capacities_[0]});
        }
      }
      for (std::uint32_t other = group + 1; other < groups_; ++other) {
        edges.push_back({router(group, other % routers_), router(other, group % routers_),
                         capacities_[first_global_]});
      }
    }
    return edges;
  }
  std::string_view TierOf(LinkIndex link) const override {
    return link < first_global_ ? "local" : "global";
  }

 private:
  void AppendLocal(std::uint32_t group, std::uint32_t from, std::uint32_t to, LinkIndex first,
                   Route& route) const {
    if (from != to) route.Append(first + (group * routers_ + from) * routers_ + to);
  }

  std::uint32_t servers_per_router_;
  std::uint32_t routers_;
  std::uint32_t groups_;
  FabricSize size_;
  LinkIndex first_global_ = 0;
};

}  // namespace

FabricResult MakeDragonfly(const FabricSpec& spec, const FabricSize& size) {
  if (spec.servers_per_router < 1 || spec.servers_per_router > cluster::kServersPerRouterMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric.serversPerRouter is ", spec.servers_per_router,
                       "; it must be between 1 and ", cluster::kServersPerRouterMax));
  }
  if (spec.routers_per_group < 1 || spec.routers_per_group > cluster::kRoutersPerGroupMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric.routersPerGroup is ", spec.routers_per_group,
                       "; it must be between 1 and ", cluster::kRoutersPerGroupMax));
  }
  const std::uint32_t per_group = spec.servers_per_router * spec.routers_per_group;
  const std::uint32_t groups = (size.servers + per_group - 1) / per_group;
  if (groups > 2048) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the dragonfly needs ", groups, " groups; at most 2048 are simulated"));
  }
  return std::make_shared<Dragonfly>(spec, size, groups);
}

}  // namespace eidolon::network::topology
