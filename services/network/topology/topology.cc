// All links lie in one range of numbers: GPUs, NICs, host bridges, then those of the fabric. The
// flow engine knows links by number only, and `link < first_nic_` and the like give each its
// meaning, so the order of the ranges in the constructor is fixed. Within each range a pair of
// numbers is one full duplex link. Rails divide the GPUs of a server evenly: GPUs of one rail share
// its NICs.
#include "services/network/topology/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::network::topology {

base::Result<Topology> Topology::Make(const Cluster& cluster) {
  auto wiring = Examine(cluster);
  if (!wiring) return std::unexpected(wiring.error());
  FabricSpec plan = cluster.plan;
  plan.kind = cluster.fabric;
  plan.oversubscription = cluster.oversubscription;
  const bool needed = cluster.servers > cluster.servers_per_domain;
  auto fabric = MakeFabric(plan, {.servers = needed ? cluster.servers : 1,
                                  .rails = wiring->rails,
                                  .rail_rate = wiring->rail_rate});
  if (!fabric) return std::unexpected(fabric.error());
  Topology topology(*wiring, std::move(*fabric));
  if (auto planned = topology.PlanChanges(); !planned) return std::unexpected(planned.error());
  if (auto checked = topology.CheckBackground(); !checked) return std::unexpected(checked.error());
  return topology;
}

Topology::Topology(const Wiring& wiring, std::shared_ptr<const Fabric> fabric)
    : wiring_(wiring), fabric_(std::move(fabric)) {
  const Cluster& cluster = wiring_.cluster;
  const std::size_t gpus = std::size_t{cluster.servers} * cluster.gpus_per_server;
  capacities_.assign(2 * gpus, wiring_.gpu_rate);
  first_nic_ = LinkCount();
  capacities_.insert(capacities_.end(), std::size_t{2} * cluster.servers * wiring_.rails,
                     wiring_.rail_rate);
  first_bridge_ = LinkCount();
  if (!wiring_.nvlink && cluster.host_bridges > 1) {
    capacities_.insert(capacities_.end(), std::size_t{2} * cluster.servers * cluster.host_bridges,
                       wiring_.bridge_rate);
  }
  first_fabric_ = LinkCount();
  const auto between = fabric_->capacities();
  capacities_.insert(capacities_.end(), between.begin(), between.end());
}

LinkIndex Topology::NicOut(std::uint32_t server, std::uint32_t rail) const {
  CHECK(rail < wiring_.rails);
  return first_nic_ + 2 * (server * wiring_.rails + rail);
}

LinkIndex Topology::NicIn(std::uint32_t server, std::uint32_t rail) const {
  return NicOut(server, rail) + 1;
}

std::uint32_t Topology::RailOf(std::uint32_t device) const {
  const std::uint64_t scaled = std::uint64_t{device} * wiring_.rails;
  return static_cast<std::uint32_t>(scaled / wiring_.cluster.gpus_per_server);
}

std::uint32_t Topology::BridgeOf(std::uint32_t device) const {
  return device * wiring_.cluster.host_bridges / wiring_.cluster.gpus_per_server;
}

void Topology::AppendInside(Place from, Place to, Route& route) const {
  route.Append(GpuUp(from));
  const std::uint32_t source = BridgeOf(from.device);
  const std::uint32_t target = BridgeOf(to.device);
  if (first_fabric_ > first_bridge_ && source != target) {
    const LinkIndex first = first_bridge_ + 2 * from.server * wiring_.cluster.host_bridges;
    route.Append(first + 2 * source);
    route.Append(first + 2 * target + 1);
  }
  route.Append(GpuDown(to));
}

Route Topology::Between(Place from, Place to) const {
  CHECK(Contains(from) && Contains(to) && from != to);
  Route route;
  if (DomainOf(from.server) == DomainOf(to.server)) {
    AppendInside(from, to, route);
    return route;
  }
  const std::uint32_t rail = RailOf(to.device);
  // PXN: by NVLink to the local GPU on the other's rail. Without NVLink the host bridge is crossed,
  // which the GPU's own port stands for.
  if (RailOf(from.device) != rail) route.Append(GpuUp(from));
  route.Append(NicOut(from.server, rail));
  AppendFabric({from.server, rail}, {to.server, rail}, 0, route);
  route.Append(NicIn(to.server, rail));
  return route;
}

std::string Topology::LinkName(LinkIndex link) const {
  using base::StrCat;
  const std::uint32_t per_server = wiring_.cluster.gpus_per_server;
  if (link < first_nic_) {
    const std::uint32_t gpu = link / 2;
    return StrCat("GPU ", gpu % per_server, " of server ", gpu / per_server,
                  link % 2 == 0 ? ", up" : ", down");
  }
  if (link < first_bridge_) {
    const std::uint32_t nic = (link - first_nic_) / 2;
    return StrCat("NIC ", nic % wiring_.rails, " of server ", nic / wiring_.rails,
                  (link - first_nic_) % 2 == 0 ? ", out" : ", in");
  }
  if (link < first_fabric_) {
    const std::uint32_t bridge = (link - first_bridge_) / 2;
    const std::uint32_t bridges = wiring_.cluster.host_bridges;
    return StrCat("host bridge ", bridge % bridges, " of server ", bridge / bridges,
                  (link - first_bridge_) % 2 == 0 ? ", up" : ", down");
  }
  return fabric_->LinkName(link - first_fabric_);
}

std::string_view Topology::TierOf(LinkIndex link) const {
  if (link < first_nic_) return "gpu";
  if (link < first_bridge_) return "nic";
  if (link < first_fabric_) return "bridge";
  return fabric_->TierOf(link - first_fabric_);
}

std::vector<std::uint8_t> Topology::TierNumbers() const {
  const std::array<std::pair<std::string_view, LinkTier>, 9> tiers = {{
      {"gpu", wiring_.nvlink ? LinkTier::kNvlink : LinkTier::kPcie},
      {"bridge", LinkTier::kBridge},
      {"nic", LinkTier::kNic},
      {"leaf", LinkTier::kLeaf},
      {"pod", LinkTier::kPod},
      {"local", LinkTier::kLocal},
      {"global", LinkTier::kGlobal},
      {"torus", LinkTier::kTorus},
      {"cable", LinkTier::kCable},
  }};
  std::vector<std::uint8_t> numbers(LinkCount());
  for (LinkIndex link = 0; link < LinkCount(); ++link) {
    const auto* const found =
        std::ranges::find(tiers, TierOf(link), &std::pair<std::string_view, LinkTier>::first);
    const LinkTier tier = found == tiers.end() ? LinkTier::kOther : found->second;
    numbers[link] = static_cast<std::uint8_t>(tier);
  }
  return numbers;
}

}  // namespace eidolon::network::topology
