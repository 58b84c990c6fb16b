#include "services/network/topology/topology.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::topology {
namespace {

// Leaves are 64-port switches with half of their ports towards servers.
constexpr std::uint32_t kLeafDownPorts = 32;
constexpr std::uint32_t kLeavesPerPod = 32;

std::uint64_t Scale(std::uint64_t rate, std::uint64_t count, double oversubscription) {
  const double scaled = static_cast<double>(rate) * static_cast<double>(count) / oversubscription;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
}

}  // namespace

base::Result<Topology> Topology::Make(const Cluster& cluster) {
  auto wiring = Examine(cluster);
  if (!wiring) return std::unexpected(wiring.error());
  return Topology(*wiring);
}

Topology::Topology(const Wiring& wiring) : wiring_(wiring) {
  const Cluster& cluster = wiring_.cluster;
  const std::uint32_t gpus = cluster.servers * cluster.gpus_per_server;
  capacities_.assign(2 * static_cast<std::size_t>(gpus), wiring_.gpu_rate);
  first_nic_ = LinkCount();
  capacities_.insert(capacities_.end(),
                     2 * static_cast<std::size_t>(cluster.servers) * wiring_.rails,
                     wiring_.rail_rate);
  first_leaf_ = LinkCount();
  first_pod_ = first_leaf_;
  if (wiring_.preset == Preset::kNone || wiring_.rails == 0) return;

  // A rail-optimised leaf takes one rail of its servers; other leaves take all NICs of a server.
  const bool by_rail = wiring_.preset == Preset::kRailOptimised;
  servers_per_leaf_ = by_rail ? kLeafDownPorts : std::max(1u, kLeafDownPorts / wiring_.rails);
  const std::uint32_t groups = (cluster.servers + servers_per_leaf_ - 1) / servers_per_leaf_;
  leaves_ = by_rail ? groups * wiring_.rails : groups;
  const std::uint64_t nics_per_leaf =
      by_rail ? servers_per_leaf_ : std::uint64_t{servers_per_leaf_} * wiring_.rails;
  capacities_.insert(capacities_.end(), 2 * static_cast<std::size_t>(leaves_),
                     Scale(wiring_.rail_rate, nics_per_leaf, cluster.oversubscription));
  first_pod_ = LinkCount();
  if (wiring_.preset != Preset::kFatTree) return;
  leaves_per_pod_ = kLeavesPerPod;
  const std::uint32_t pods = (leaves_ + leaves_per_pod_ - 1) / leaves_per_pod_;
  capacities_.insert(
      capacities_.end(), 2 * static_cast<std::size_t>(pods),
      Scale(wiring_.rail_rate, nics_per_leaf * leaves_per_pod_, cluster.oversubscription));
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

std::uint32_t Topology::LeafOf(std::uint32_t server, std::uint32_t rail) const {
  const std::uint32_t group = server / servers_per_leaf_;
  return wiring_.preset == Preset::kRailOptimised ? group * wiring_.rails + rail : group;
}

void Topology::AppendFabric(std::uint32_t from, std::uint32_t to, std::uint32_t rail,
                            Route& route) const {
  const std::uint32_t source = LeafOf(from, rail);
  const std::uint32_t target = LeafOf(to, rail);
  if (source == target) return;
  route.Append(first_leaf_ + 2 * source);
  if (leaves_per_pod_ > 0 && source / leaves_per_pod_ != target / leaves_per_pod_) {
    route.Append(first_pod_ + 2 * (source / leaves_per_pod_));
    route.Append(first_pod_ + 2 * (target / leaves_per_pod_) + 1);
  }
  route.Append(first_leaf_ + 2 * target + 1);
}

Route Topology::Between(Place from, Place to) const {
  CHECK(Contains(from) && Contains(to) && from != to);
  Route route;
  if (from.server == to.server) {
    route.Append(GpuUp(from));
    route.Append(GpuDown(to));
    return route;
  }
  const std::uint32_t rail = RailOf(to.device);
  const bool crosses_rails = RailOf(from.device) != rail;
  // PXN: by NVLink to the local GPU on the other's rail. Without NVLink the host bridge is crossed,
  // which the GPU's own port stands for.
  if (crosses_rails) route.Append(GpuUp(from));
  route.Append(NicOut(from.server, rail));
  AppendFabric(from.server, to.server, rail, route);
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
  if (link < first_leaf_) {
    const std::uint32_t nic = (link - first_nic_) / 2;
    return StrCat("NIC ", nic % wiring_.rails, " of server ", nic / wiring_.rails,
                  (link - first_nic_) % 2 == 0 ? ", out" : ", in");
  }
  const bool leaf = link < first_pod_;
  const std::uint32_t at = link - (leaf ? first_leaf_ : first_pod_);
  return StrCat(leaf ? "leaf " : "pod ", at / 2, at % 2 == 0 ? ", up" : ", down");
}

}  // namespace eidolon::network::topology
