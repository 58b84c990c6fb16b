// The links of a simulated cluster and the routes over them. Links are numbers in one flat range;
// routes follow from the positions by arithmetic, so a cluster of any size needs no routing table.
//
//   GPU --up--> NVSwitch --down--> GPU         inside a server, or an NVLink domain of several
//   GPU --up--> [bridge --up--> bridge --down-->] --down--> GPU     inside a PCIe server
//   GPU [--up--> local GPU of the other's rail] --NIC out--> fabric --NIC in--> GPU
//                                              between servers; the first hop is PXN
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/topology/cluster.h"
#include "services/network/topology/fabric.h"

namespace eidolon::network::topology {

// One GPU of the cluster.
struct Place {
  std::uint32_t server = 0;
  std::uint32_t device = 0;
  auto operator<=>(const Place&) const = default;
};

// Links of one sort. GPUs' links are NVLink or PCIe.
enum class LinkTier : std::uint8_t {
  kOther,
  kNvlink,
  kPcie,
  kBridge,
  kNic,
  kLeaf,
  kPod,
  kLocal,
  kGlobal,
  kTorus,
  kCable,
};

// Effect of a fault on one link.
struct LinkChange {
  base::SimTime at;
  LinkIndex link = 0;
  std::uint64_t capacity = 0;
};

// Immutable but for SetFailed.
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
  // Appends the links from one NIC to another, without the NICs' own. `pair` numbers the queue
  // pair, which static routing may send its own way.
  void AppendFabric(Port from, Port to, std::uint32_t pair, Route& route) const;
  // Returns what the cluster's faults do, in order of time.
  std::span<const LinkChange> changes() const { return changes_; }
  // Routes go round failed links where the fabric knows another way. True when that changed any.
  bool SetFailed(LinkIndex link, bool failed);
  // Names of the links that have failed now.
  std::vector<std::string> FailedLinks() const;
  const Fabric& fabric() const { return *fabric_; }
  LinkIndex first_fabric() const { return first_fabric_; }
  // The NVLink domain of a server; servers of one domain reach each other without NICs.
  std::uint32_t DomainOf(std::uint32_t server) const {
    return server / wiring_.cluster.servers_per_domain;
  }
  // Appends the way between two GPUs of one server or domain. Requires: they differ.
  void AppendInside(Place from, Place to, Route& route) const;

  bool Contains(Place place) const {
    return place.server < wiring_.cluster.servers && place.device < wiring_.cluster.gpus_per_server;
  }

  // "NIC 3 of server 12, out"; for reports and faults.
  std::string LinkName(LinkIndex link) const;
  // "gpu", "bridge", "nic", or the fabric's word.
  std::string_view TierOf(LinkIndex link) const;
  // The same as a number, by link.
  std::vector<std::uint8_t> TierNumbers() const;

 private:
  Topology(const Wiring& wiring, std::shared_ptr<const Fabric> fabric);
  std::uint32_t Gpu(Place place) const {
    return place.server * wiring_.cluster.gpus_per_server + place.device;
  }
  std::uint32_t BridgeOf(std::uint32_t device) const;
  base::Result<void> PlanChanges();
  base::Result<void> CheckBackground() const;
  bool CrossesFailed(const Route& route, std::uint32_t begin) const;

  Wiring wiring_;
  std::shared_ptr<const Fabric> fabric_;
  LinkIndex first_nic_ = 0;
  LinkIndex first_bridge_ = 0;
  LinkIndex first_fabric_ = 0;
  std::vector<std::uint64_t> capacities_;
  std::vector<LinkChange> changes_;
  // Fabric links that have failed; empty when none has.
  std::vector<bool> failed_;
  std::uint32_t failed_count_ = 0;
  std::shared_ptr<const Fabric> detour_;  // The fabric's ways round them.
};

}  // namespace eidolon::network::topology
