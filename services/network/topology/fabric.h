// Connects servers: links between NICs, and the routes over them. One file for each kind of
// network.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/cluster/fabric_spec.h"

namespace eidolon::network::topology {

using LinkIndex = std::uint32_t;

// The links a transfer crosses, first to last.
struct Route {
  static constexpr std::uint32_t kLinksMax = 48;
  std::array<LinkIndex, kLinksMax> links{};
  std::uint32_t length = 0;

  void Append(LinkIndex link) { links.at(length++) = link; }
  std::span<const LinkIndex> Links() const& { return {links.data(), length}; }
  // A loop over a temporary's links would outlive it.
  std::span<const LinkIndex> Links() const&& = delete;
};

using cluster::FabricSpec;
using cluster::Routing;

// Size for which a network is built.
struct FabricSize {
  std::uint32_t servers = 1;
  std::uint32_t rails = 1;
  std::uint64_t rail_rate = 0;  // Bytes per second of one rail of a server.
};

// The NIC of a server on one rail.
struct Port {
  std::uint32_t server = 0;
  std::uint32_t rail = 0;
};

// Immutable. Links are numbered from 0; the NICs' own links are not among them.
class Fabric {
 public:
  virtual ~Fabric() = default;

  std::span<const std::uint64_t> capacities() const { return capacities_; }
  // Appends `first` + the number of each link from one NIC to another. `pair` numbers a queue
  // pair: static routing may send two of them by different ways. Requires: the servers differ.
  virtual void Append(Port from, Port to, std::uint32_t pair, LinkIndex first,
                      Route& route) const = 0;
  // "leaf 3, up".
  virtual std::string LinkName(LinkIndex link) const = 0;
  // Of how many parallel links a link is the sum; they are equal.
  virtual std::uint32_t PartsOf(LinkIndex) const { return 1; }
  // One of them: "leaf 3, up to spine 2". Requires: the link has parts.
  virtual std::string PartName(LinkIndex, std::uint32_t) const { return {}; }
  // A word for links of one sort, for metrics and drawings: "leaf", "spine", "global".
  virtual std::string_view TierOf(LinkIndex link) const = 0;
  // The network as a picture: who is connected to whom, each pair once. Servers are called
  // "server N".
  struct Edge {
    std::string from, to;
    std::uint64_t capacity = 0;  // Bytes per second and direction.
  };
  virtual std::vector<Edge> Edges() const = 0;
  // True when parallel links are told apart, so that several queue pairs are worth asking for.
  virtual bool Splits() const { return false; }
  // The same links with routes round those that `failed` marks; nothing when the ways are not
  // looked up, but follow from the queue pair. Ways that lead nowhere stay as they were.
  virtual std::shared_ptr<const Fabric> Without(const std::vector<bool>&) const { return nullptr; }
  // True when NICs can be slowed by others' traffic although nothing is oversubscribed.
  virtual bool Blocks() const { return Splits(); }

 protected:
  std::vector<std::uint64_t> capacities_;
};

// A hash that spreads queue pairs over parallel links.
std::uint32_t SpreadHash(Port from, Port to, std::uint32_t pair);

// Capacity of `count` NICs over an oversubscription, at least 1.
std::uint64_t SummedCapacity(std::uint64_t rate, double count, double oversubscription);

}  // namespace eidolon::network::topology
