// Switches and cables as their owner lists them. Routes are shortest ways; of several equal next
// hops the hash of the queue pair chooses one (with adaptive routing: of the two NICs alone, so
// that a pair of NICs has one way).
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kRouteMax = Route::kLinksMax - 4;  // Of a way.

std::unexpected<base::Error> Invalid(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

// Links: each cable from a to b, then from b to a.
class Graph final : public Fabric {
 public:
  Graph(const FabricSpec& spec, const FabricSize& size)
      : names_(spec.switches),
        routing_(spec.routing),
        rails_(size.rails),
        rail_rate_(size.rail_rate) {
    neighbours_.resize(names_.size());
    for (const FabricSpec::Cable& cable : spec.cables) {
      const auto link = static_cast<LinkIndex>(capacities_.size());
      capacities_.insert(capacities_.end(), 2,
                         static_cast<std::uint64_t>(cable.gigabits_per_second * 1e9 / 8));
      neighbours_[cable.a].push_back({cable.b, link});
      neighbours_[cable.b].push_back({cable.a, link + 1});
      ends_.push_back({cable.a, cable.b});
    }
    plugged_.assign(std::size_t{size.servers} * size.rails, kFar);
    for (const FabricSpec::Plug& plug : spec.plugs) {
      plugged_[std::size_t{plug.server} * size.rails + plug.rail] = plug.at;
    }
  }

  // Fails when NICs cannot reach others, or only over too many cables. How often it had to walk
  // over the whole graph for that.
  Result<std::uint32_t> Examine() const {
    std::set<std::uint32_t> targets;
    for (std::size_t at = 0; at < plugged_.size(); ++at) {
      if (plugged_[at] == kFar) {
        return Invalid(StrCat("fabric.plugs: NIC ", at % rails_, " of server ", at / rails_,
                              " is plugged in nowhere"));
      }
      targets.insert(plugged_[at]);
    }
    std::uint32_t walks = 0;
    for (std::uint32_t target : targets) {
      ++walks;
      const auto longest = LongestTo(target);
      if (!longest) return std::unexpected(longest.error());
      // Two others are no farther from each other than over this one.
      if (2 * *longest <= kRouteMax) break;
    }
    return walks;
  }

  // Distances to the switches that NICs are plugged into. Requires: Examine found nothing.
  void Connect() {
    for (std::uint32_t at : plugged_) {
      if (!distances_.contains(at)) distances_[at] = DistancesTo(at);
    }
  }

  void Append(Port from, Port to, std::uint32_t pair, LinkIndex first,
              Route& route) const override {
    std::uint32_t at = plugged_[from.server * rails_ + from.rail];
    const std::uint32_t target = plugged_[to.server * rails_ + to.rail];
    const std::vector<std::uint32_t>& distances = distances_.at(target);
    std::uint32_t hash = SpreadHash(from, to, routing_ == Routing::kEcmp ? pair : 0);
    while (at != target) {
      std::uint32_t nearer = 0;
      for (const Neighbour& next : neighbours_[at]) {
        if (distances[next.node] < distances[at]) ++nearer;
      }
      std::uint32_t choice = hash % nearer;
      hash = hash * 2654435761u + 12345u;
      for (const Neighbour& next : neighbours_[at]) {
        if (distances[next.node] >= distances[at] || choice-- > 0) continue;
        route.Append(first + next.link);
        at = next.node;
        break;
      }
    }
  }

  std::shared_ptr<const Fabric> Without(const std::vector<bool>& failed) const override {
    auto rest = std::make_shared<Graph>(*this);
    for (std::vector<Neighbour>& neighbours : rest->neighbours_) {
      // A cable that fails in one direction is not used in the other.
      std::erase_if(neighbours, [&](const Neighbour& next) {
        return failed[next.link] || failed[next.link ^ 1];
      });
    }
    for (auto& [target, distances] : rest->distances_) {
      distances = rest->DistancesTo(target);
      for (std::uint32_t at : plugged_) {
        // Cut off: it waits for the link to recover.
        if (distances[at] == kFar) return std::make_shared<Graph>(*this);
      }
    }
    return rest;
  }

  std::string LinkName(LinkIndex link) const override {
    const auto& [a, b] = ends_[link / 2];
    return link % 2 == 0 ? StrCat(names_[a], " to ", names_[b])
                         : StrCat(names_[b], " to ", names_[a]);
  }
  std::string_view TierOf(LinkIndex) const override { return "cable"; }
  bool Blocks() const override { return true; }
  std::vector<Edge> Edges() const override {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> plugs;
    for (std::size_t at = 0; at < plugged_.size(); ++at) {
      plugs[{static_cast<std::uint32_t>(at / rails_), plugged_[at]}] += rail_rate_;
    }
    std::vector<Edge> edges;
    for (const auto& [plug, capacity] : plugs) {
      edges.push_back({StrCat("server ", plug.first), names_[plug.second], capacity});
    }
    for (std::size_t at = 0; at < ends_.size(); ++at) {
      edges.push_back({names_[ends_[at].first], names_[ends_[at].second], capacities_[2 * at]});
    }
    return edges;
  }
  bool Splits() const override { return routing_ == Routing::kEcmp; }

 private:
  struct Neighbour {
    std::uint32_t node = 0;
    LinkIndex link = 0;
  };

  // Cables on the longest way from a NIC to a switch.
  Result<std::uint32_t> LongestTo(std::uint32_t target) const {
    const std::vector<std::uint32_t> distances = DistancesTo(target);
    std::uint32_t longest = 0;
    for (std::uint32_t at : plugged_) {
      const std::uint32_t distance = distances[at];
      if (distance == kFar) {
        return Invalid(
            StrCat("fabric: no way leads from switch ", names_[at], " to ", names_[target]));
      }
      if (distance > kRouteMax) {
        return Invalid(StrCat("fabric: the way from switch ", names_[at], " to ", names_[target],
                              " has ", distance, " cables; at most ", kRouteMax, " are simulated"));
      }
      longest = std::max(longest, distance);
    }
    return longest;
  }

  std::vector<std::uint32_t> DistancesTo(std::uint32_t target) const {
    std::vector<std::uint32_t> distances(names_.size(), kFar);
    std::deque<std::uint32_t> reached{target};
    distances[target] = 0;
    while (!reached.empty()) {
      const std::uint32_t at = reached.front();
      reached.pop_front();
      for (const Neighbour& next : neighbours_[at]) {
        if (distances[next.node] != kFar) continue;
        distances[next.node] = distances[at] + 1;
        reached.push_back(next.node);
      }
    }
    return distances;
  }

  std::vector<std::string> names_;
  Routing routing_;
  std::uint32_t rails_;
  std::uint64_t rail_rate_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_;
  std::vector<std::uint32_t> plugged_;  // By server and rail.
  std::map<std::uint32_t, std::vector<std::uint32_t>> distances_;
};

Result<void> Check(const FabricSpec& spec, const FabricSize& size) {
  if (spec.switches.empty() || spec.switches.size() > cluster::kSwitchesMax) {
    return Invalid(StrCat("fabric.switches names ", spec.switches.size(), " switches; 1 to ",
                          cluster::kSwitchesMax, " are simulated"));
  }
  for (const FabricSpec::Cable& cable : spec.cables) {
    if (cable.a >= spec.switches.size() || cable.b >= spec.switches.size() || cable.a == cable.b) {
      return Invalid("fabric.cables: a cable needs two different switches that exist");
    }
    if (!(cable.gigabits_per_second >= cluster::kLinkGigabitsMin &&
          cable.gigabits_per_second <= cluster::kLinkGigabitsMax)) {
      return Invalid(StrCat("fabric.cables: the cable from ", spec.switches[cable.a], " to ",
                            spec.switches[cable.b], " has ", cable.gigabits_per_second,
                            " Gbit/s; it must be between 0.1 and 1e6"));
    }
  }
  std::vector<bool> plugged(std::size_t{size.servers} * size.rails);
  for (const FabricSpec::Plug& plug : spec.plugs) {
    if (plug.server >= size.servers || plug.rail >= size.rails || plug.at >= spec.switches.size()) {
      return Invalid(StrCat("fabric.plugs: NIC ", plug.rail, " of server ", plug.server,
                            " does not exist (", size.servers, " servers with ", size.rails,
                            " NICs)"));
    }
    const std::size_t nic = std::size_t{plug.server} * size.rails + plug.rail;
    if (plugged[nic]) {
      return Invalid(StrCat("fabric.plugs: NIC ", plug.rail, " of server ", plug.server,
                            " is plugged in twice"));
    }
    plugged[nic] = true;
  }
  return {};
}

}  // namespace

Result<std::uint32_t> CheckGraph(const FabricSpec& spec, const FabricSize& size) {
  if (auto checked = Check(spec, size); !checked) return std::unexpected(checked.error());
  return Graph(spec, size).Examine();
}

FabricResult MakeGraph(const FabricSpec& spec, const FabricSize& size) {
  if (auto checked = Check(spec, size); !checked) return std::unexpected(checked.error());
  auto graph = std::make_shared<Graph>(spec, size);
  if (auto examined = graph->Examine(); !examined) return std::unexpected(examined.error());
  graph->Connect();
  return graph;
}

}  // namespace eidolon::network::topology
