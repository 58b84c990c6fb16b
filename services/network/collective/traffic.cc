#include "services/network/collective/traffic.h"

#include <algorithm>
#include <map>

#include "services/base/check.h"

namespace eidolon::network::collective {
namespace {

using flow::LinkUse;
using topology::LinkIndex;
using topology::Place;
using topology::Route;
using topology::Topology;

// Bytes through one GPU's port and through all NICs of one server, each direction.
struct Bytes {
  double gpu = 0;
  double server = 0;
};

double WireShare(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return 2.0;
    case Protocol::kLl128:
      return 128.0 / 120.0;
    case Protocol::kSimple:
      return 1.0;
  }
  return 1.0;
}

// Bytes of the algorithms for a large buffer of `bytes`, n ranks, N servers.
Bytes BytesOf(const Load& load, const Cost& cost, double ranks, std::size_t servers) {
  const auto bytes = static_cast<double>(load.bytes);
  const double pass = bytes * (ranks - 1) / ranks;
  switch (load.kind) {
    case Kind::kAllReduce:
      switch (cost.algorithm) {
        case Algorithm::kTree:
          return {2 * bytes, servers > 2 ? 2 * bytes : bytes};
        case Algorithm::kNvlsTree:
          return {bytes, servers > 2 ? 2 * bytes : bytes};
        case Algorithm::kNvls:
        case Algorithm::kCollNetDirect:
        case Algorithm::kCollNetChain:
          return {bytes, bytes};  // Between servers the switches reduce.
        default:
          return {2 * pass, 2 * pass};
      }
    case Kind::kAllGather:
    case Kind::kReduceScatter:
      return {pass, pass};
    default:
      return {bytes, bytes};
  }
}

// Sums bytes by link; at the end they become rates.
class Tally {
 public:
  Tally(const Topology& topology, const Cost& cost)
      : topology_(topology), seconds_(cost.transfer.Seconds()), wire_(WireShare(cost.protocol)) {}

  void Add(LinkIndex link, double bytes) {
    if (bytes > 0) bytes_[link] += bytes * wire_;
  }

  void Add(const Route& route, double bytes) {
    for (LinkIndex link : route.Links()) Add(link, bytes);
  }

  std::vector<LinkUse> Uses() const {
    std::vector<LinkUse> uses;
    uses.reserve(bytes_.size());
    for (const auto& [link, bytes] : bytes_) {
      const std::uint64_t capacity = topology_.Capacities()[link];
      const double rate = bytes / seconds_;
      const bool beyond = rate >= static_cast<double>(capacity);
      uses.push_back(
          {link, beyond ? capacity : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate))});
    }
    return uses;
  }

 private:
  const Topology& topology_;
  double seconds_;
  double wire_;
  std::map<LinkIndex, double> bytes_;
};

// Devices of each server that take part.
using Servers = std::map<std::uint32_t, std::vector<std::uint32_t>>;

Servers ServersOf(std::span<const Place> places) {
  Servers servers;
  for (const Place& place : places) servers[place.server].push_back(place.device);
  return servers;
}

std::vector<std::uint32_t> RailsOf(const Topology& topology,
                                   const std::vector<std::uint32_t>& devices) {
  std::vector<std::uint32_t> rails;
  for (std::uint32_t device : devices) rails.push_back(topology.RailOf(device));
  std::sort(rails.begin(), rails.end());
  rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
  return rails;
}

// Rings, trees and NVLS: every GPU port and every NIC carries the same; between servers the traffic
// follows the ring of servers.
void AddUniform(const Topology& topology, const Servers& servers, const Bytes& bytes,
                Tally& tally) {
  for (auto at = servers.begin(); at != servers.end(); ++at) {
    const auto& [server, devices] = *at;
    if (devices.size() > 1) {
      for (std::uint32_t device : devices) {
        tally.Add(topology.GpuUp({server, device}), bytes.gpu);
        tally.Add(topology.GpuDown({server, device}), bytes.gpu);
      }
    }
    if (servers.size() == 1) continue;
    const auto next = std::next(at) == servers.end() ? servers.begin() : std::next(at);
    const std::vector<std::uint32_t> rails = RailsOf(topology, devices);
    for (std::uint32_t rail : rails) {
      const double share = bytes.server / static_cast<double>(rails.size());
      tally.Add(topology.NicOut(server, rail), share);
      tally.Add(topology.NicIn(server, rail), share);
      Route fabric;
      topology.AppendFabric(server, next->first, rail, fabric);
      tally.Add(fabric, share);
    }
  }
}

// All-to-all: the parts of all pairs of servers that travel on each rail.
void AddAllToAll(const Topology& topology, const Servers& servers, double part, Tally& tally) {
  for (const auto& [server, devices] : servers) {
    for (std::uint32_t device : devices) {
      const double local = part * static_cast<double>(devices.size() - 1);
      tally.Add(topology.GpuUp({server, device}), local);
      tally.Add(topology.GpuDown({server, device}), local);
    }
    for (const auto& [other, targets] : servers) {
      if (other == server) continue;
      for (std::uint32_t target : targets) {
        const std::uint32_t rail = topology.RailOf(target);
        Route route;
        route.Append(topology.NicOut(server, rail));
        topology.AppendFabric(server, other, rail, route);
        route.Append(topology.NicIn(other, rail));
        tally.Add(route, part * static_cast<double>(devices.size()));
      }
    }
  }
}

// Gather and scatter: one part between the root and each other member.
void AddStar(const Topology& topology, std::span<const Place> places, const Load& load, double part,
             Tally& tally) {
  const Place root = places[load.root];
  for (const Place& place : places) {
    if (place == root) continue;
    tally.Add(
        load.kind == Kind::kGather ? topology.Between(place, root) : topology.Between(root, place),
        part);
  }
}

}  // namespace

std::vector<LinkUse> TrafficOf(const Topology& topology, std::span<const Place> places,
                               const Load& load, const Cost& cost) {
  if (places.size() < 2 || cost.transfer.ps <= 0) return {};
  CHECK(load.root < places.size());
  Tally tally(topology, cost);
  const auto ranks = static_cast<double>(places.size());
  const double part = static_cast<double>(load.bytes) / ranks;
  const Servers servers = ServersOf(places);
  switch (load.kind) {
    case Kind::kAllToAll:
      AddAllToAll(topology, servers, part, tally);
      break;
    case Kind::kGather:
    case Kind::kScatter:
      AddStar(topology, places, load, part, tally);
      break;
    default:
      AddUniform(topology, servers, BytesOf(load, cost, ranks, servers.size()), tally);
  }
  return tally.Uses();
}

std::vector<LinkUse> TrafficBetween(const Topology& topology, Place from, Place to,
                                    std::uint64_t bytes_per_second) {
  if (from == to) return {};
  std::vector<LinkUse> uses;
  const Route route = topology.Between(from, to);
  for (LinkIndex link : route.Links()) {
    uses.push_back({link, std::min(bytes_per_second, topology.Capacities()[link])});
  }
  std::sort(uses.begin(), uses.end(),
            [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
  return uses;
}

}  // namespace eidolon::network::collective
