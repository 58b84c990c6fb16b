// The links of a simulated cluster and the routes over them. Links are numbers in one flat range;
// routes follow from the positions by arithmetic, so a cluster of any size needs no routing table.
//
//   GPU --up--> NVSwitch --down--> GPU                      inside a server (PCIe: the same
//   picture) GPU [--up--> local GPU of the other's rail] --NIC out--> leaf [--up--> spine --down-->
//   leaf]
//       --NIC in--> GPU                                      between servers; the first hop is PXN
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/network/topology/cluster.h"

namespace eidolon::network::topology {

using LinkIndex = std::uint32_t;

// One GPU of the cluster.
struct Place {
  std::uint32_t server = 0;
  std::uint32_t device = 0;
  auto operator<=>(const Place&) const = default;
};

// The links a transfer crosses, first to last.
struct Route {
  std::array<LinkIndex, 8> links{};
  std::uint32_t length = 0;

  void Append(LinkIndex link) { links[length++] = link; }
  std::span<const LinkIndex> Links() const& { return {links.data(), length}; }
  // A loop over a temporary's links would outlive it.
  std::span<const LinkIndex> Links() const&& = delete;
};

// Immutable. The parallel links of a tier above the leaves count as one link of their summed
// capacity: traffic is taken to be spread evenly over them (adaptive routing or spraying).
class Topology {
 public:
  static base::Result<Topology> Make(const Cluster& cluster);

  const Wiring& wiring() const { return wiring_; }
  std::uint32_t LinkCount() const { return static_cast<std::uint32_t>(capacities_.size()); }
  // Bytes per second, by link.
  std::span<const std::uint64_t> Capacities() const { return capacities_; }

  // Requires: both places exist, and they differ.
  Route Between(Place from, Place to) const;

  LinkIndex GpuUp(Place place) const { return 2 * Gpu(place); }
  LinkIndex GpuDown(Place place) const { return 2 * Gpu(place) + 1; }
  // Requires: rail < wiring().rails.
  LinkIndex NicOut(std::uint32_t server, std::uint32_t rail) const;
  LinkIndex NicIn(std::uint32_t server, std::uint32_t rail) const;
  // The rail whose NICs are nearest to a GPU.
  std::uint32_t RailOf(std::uint32_t device) const;
  // Appends the links from one server's NIC to another's, both on `rail`, without the NICs
  // themselves.
  void AppendFabric(std::uint32_t from, std::uint32_t to, std::uint32_t rail, Route& route) const;

  bool Contains(Place place) const {
    return place.server < wiring_.cluster.servers && place.device < wiring_.cluster.gpus_per_server;
  }

  // "NIC 3 of server 12, out"; for reports.
  std::string LinkName(LinkIndex link) const;

 private:
  explicit Topology(const Wiring& wiring);
  std::uint32_t Gpu(Place place) const {
    return place.server * wiring_.cluster.gpus_per_server + place.device;
  }
  std::uint32_t LeafOf(std::uint32_t server, std::uint32_t rail) const;

  Wiring wiring_;
  std::uint32_t servers_per_leaf_ = 1;
  std::uint32_t leaves_ = 0;
  std::uint32_t leaves_per_pod_ = 0;  // 0: no tier above the spines.
  LinkIndex first_nic_ = 0;
  LinkIndex first_leaf_ = 0;
  LinkIndex first_pod_ = 0;
  std::vector<std::uint64_t> capacities_;
};

}  // namespace eidolon::network::topology
