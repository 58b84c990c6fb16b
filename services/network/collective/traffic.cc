// Rates follow from the cost, not the other way round: each link gets its bytes divided by
// cost.transfer. So the flow engine reproduces the measured time exactly when nothing competes, and
// competition can only lengthen it. A measured time may be shorter than our byte counts allow on
// the links of a server. Those links are then taken as full, and the fabric carries less by the
// same factor. Bytes are counted on the wire: LL sends as many flags as data.
#include "services/network/collective/traffic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "services/base/check.h"

namespace eidolon::network::collective {
namespace {

using flow::LinkUse;
using topology::LinkIndex;
using topology::Place;
using topology::Port;
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
    const double slower = Slower();
    for (const auto& [link, bytes] : bytes_) {
      double rate = bytes / seconds_;
      if (link >= topology_.first_fabric()) {
        rate /= slower;
      } else if (const auto capacity = static_cast<double>(topology_.Capacities()[link]);
                 rate > capacity) {
        rate = capacity;
      }
      uses.push_back({link, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate))});
    }
    return uses;
  }

 private:
  // What was measured may be faster than the links of a server by our reckoning; then they send as
  // fast as they can, and no more than that reaches the fabric.
  double Slower() const {
    double slower = 1;
    for (const auto& [link, bytes] : bytes_) {
      if (link >= topology_.first_fabric()) break;
      const auto capacity = static_cast<double>(topology_.Capacities()[link]);
      slower = std::max(slower, bytes / seconds_ / capacity);
    }
    return slower;
  }

  const Topology& topology_;
  double seconds_;
  double wire_;
  std::map<LinkIndex, double> bytes_;
};

// Members by node: a server, or an NVLink domain of several.
using Nodes = std::map<std::uint32_t, std::vector<Place>>;

Nodes NodesOf(const Topology& topology, std::span<const Place> places) {
  Nodes nodes;
  for (const Place& place : places) nodes[topology.DomainOf(place.server)].push_back(place);
  return nodes;
}

// The NICs that serve a node's members, each once.
std::vector<Port> NicsOf(const Topology& topology, const std::vector<Place>& members) {
  std::vector<Port> nics;
  for (const Place& place : members) {
    nics.push_back({place.server, topology.RailOf(place.device)});
  }
  const auto key = [](const Port& port) { return std::pair(port.server, port.rail); };
  std::sort(nics.begin(), nics.end(),
            [&](const Port& a, const Port& b) { return key(a) < key(b); });
  nics.erase(std::unique(nics.begin(), nics.end(),
                         [&](const Port& a, const Port& b) { return key(a) == key(b); }),
             nics.end());
  return nics;
}

// Bytes from one NIC to another, over as many ways as its queue pairs take.
void AddBetween(const Topology& topology, Port from, Port to, double bytes, Tally& tally) {
  tally.Add(topology.NicOut(from.server, from.rail), bytes);
  tally.Add(topology.NicIn(to.server, to.rail), bytes);
  constexpr std::uint32_t kQueuePairs = 4;
  const std::uint32_t pairs = topology.fabric().Splits() ? kQueuePairs : 1;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    Route fabric;
    topology.AppendFabric(from, to, pair, fabric);
    tally.Add(fabric, bytes / pairs);
  }
}

// Rings, trees and NVLS: every GPU port and every NIC carries the same; between nodes the traffic
// follows the ring of nodes, NIC by NIC.
void AddUniform(const Topology& topology, const Nodes& nodes, const Bytes& bytes, Tally& tally) {
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    const std::vector<Place>& members = at->second;
    if (members.size() > 1) {
      for (std::size_t place = 0; place < members.size(); ++place) {
        // Route towards the next member, and so through the host bridges where there are some.
        Route inside;
        topology.AppendInside(members[place], members[(place + 1) % members.size()], inside);
        tally.Add(inside, bytes.gpu);
      }
    }
    if (nodes.size() == 1) continue;
    const auto next = std::next(at) == nodes.end() ? nodes.begin() : std::next(at);
    const std::vector<Port> nics = NicsOf(topology, members);
    const std::vector<Port> others = NicsOf(topology, next->second);
    const double share = bytes.server / static_cast<double>(nics.size());
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      AddBetween(topology, nics[nic], others[nic % others.size()], share, tally);
    }
  }
}

// What an exchange moves between a node's GPUs: the parts they have for each other, and those that
// leave by a NIC which another GPU is nearest to.
void AddInsideOfExchange(const Topology& topology, const std::vector<Place>& members,
                         const std::vector<Port>& nics, const std::vector<double>& through,
                         double part, Tally& tally) {
  const auto senders = static_cast<double>(members.size());
  const auto serves = [&](const Place& place, const Port& nic) {
    return place.server == nic.server && topology.RailOf(place.device) == nic.rail;
  };
  for (const Place& place : members) {
    double up = part * (senders - 1);
    double down = up;
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      const auto near = static_cast<double>(
          std::count_if(members.begin(), members.end(),
                        [&](const Place& other) { return serves(other, nics[nic]); }));
      if (serves(place, nics[nic])) {
        down += part * through[nic] * (senders - near) / near;
      } else {
        up += part * through[nic];
      }
    }
    tally.Add(topology.GpuUp(place), up);
    tally.Add(topology.GpuDown(place), down);
  }
}

// All-to-all. With PXN what is bound for another rail goes by NVLink to the local GPU on that rail
// and stays on it; all parts of a node for one NIC travel together. Without, it leaves by the
// sender's own NIC and changes the rail in the fabric.
void AddAllToAll(const Topology& topology, const Nodes& nodes, double part, bool pxn,
                 Tally& tally) {
  for (const auto& [node, members] : nodes) {
    const std::vector<Port> nics = NicsOf(topology, members);
    const auto senders = static_cast<double>(members.size());
    std::vector<double> through(nics.size(), 0);  // Remote targets that a NIC leads to.
    for (const auto& [other, targets] : nodes) {
      if (other == node) continue;
      for (const Place& target : targets) {
        const Port to{target.server, topology.RailOf(target.device)};
        if (!pxn) {
          for (const Place& place : members) {
            AddBetween(topology, {place.server, topology.RailOf(place.device)}, to, part, tally);
          }
          continue;
        }
        // The node's NIC on the target's rail, if it has one, else one of its NICs in turn.
        std::size_t via = to.rail % nics.size();
        for (std::size_t nic = 0; nic < nics.size(); ++nic) {
          if (nics[nic].rail == to.rail) via = nic;
        }
        through[via] += 1;
        AddBetween(topology, nics[via], to, part * senders, tally);
      }
    }
    AddInsideOfExchange(topology, members, nics, through, part, tally);
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
  const Nodes nodes = NodesOf(topology, places);
  switch (load.kind) {
    case Kind::kAllToAll:
      AddAllToAll(topology, nodes, part, load.pxn, tally);
      break;
    case Kind::kGather:
    case Kind::kScatter:
      AddStar(topology, places, load, part, tally);
      break;
    default:
      AddUniform(topology, nodes, BytesOf(load, cost, ranks, nodes.size()), tally);
  }
  return tally.Uses();
}

std::vector<LinkUse> TrafficBetween(const Topology& topology, Place from, Place to,
                                    std::uint64_t bytes_per_second) {
  if (from == to) return {};
  std::vector<LinkUse> uses;
  const Route route = topology.Between(from, to);
  for (LinkIndex link : route.Links()) {
    if (link >= topology.first_fabric()) continue;
    bytes_per_second = std::min(bytes_per_second, topology.Capacities()[link]);
  }
  for (LinkIndex link : route.Links()) uses.push_back({link, bytes_per_second});
  std::sort(uses.begin(), uses.end(),
            [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
  return uses;
}

base::Duration TimeOver(const Topology& topology, std::span<const LinkUse> uses,
                        base::Duration transfer) {
  double slowdown = 1;
  for (const LinkUse& use : uses) {
    const auto capacity = static_cast<double>(topology.Capacities()[use.link]);
    slowdown = std::max(slowdown, static_cast<double>(use.bytes_per_second) / capacity);
  }
  return {static_cast<std::int64_t>(std::ceil(static_cast<double>(transfer.ps) * slowdown))};
}

}  // namespace eidolon::network::collective
