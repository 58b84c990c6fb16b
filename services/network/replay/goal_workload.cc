// The figures of a benchmark are comparable only on equal inputs, so these workloads are made by
// fixed rules and seeds. Every cable has two links, 2 c down and 2 c + 1 up, as in flow_file.h. The
// Python generator draws other random numbers, so its random workloads equal these in distribution
// only.
#include "services/network/replay/goal_workload.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/random.h"
#include "services/network/replay/workload.h"

namespace eidolon::network::replay {
namespace {

constexpr std::uint64_t kNvlink = 370'000'000'000;  // Bytes per second and direction.
constexpr std::uint64_t kHost = 12'500'000'000;

using Way = std::vector<std::uint32_t>;

// Grows a flow file: cables with two links each, routes, flows.
class Sheet {
 public:
  explicit Sheet(std::string name) { file_.name = std::move(name); }

  std::uint32_t Cable(std::uint64_t rate) {
    file_.capacities.insert(file_.capacities.end(), 2, rate);
    return static_cast<std::uint32_t>(file_.capacities.size() / 2 - 1);
  }
  static std::uint32_t Down(std::uint32_t cable) { return 2 * cable; }
  static std::uint32_t Up(std::uint32_t cable) { return 2 * cable + 1; }

  std::uint32_t Route(const Way& way) {
    file_.route_links.insert(file_.route_links.end(), way.begin(), way.end());
    file_.route_begin.push_back(static_cast<std::uint32_t>(file_.route_links.size()));
    return static_cast<std::uint32_t>(file_.route_begin.size() - 2);
  }

  std::uint32_t Flow(std::int64_t start_ps, std::uint64_t bytes, std::uint32_t route,
                     std::initializer_list<std::uint32_t> after = {}) {
    file_.flows.push_back(
        {.start_ps = start_ps,
         .bytes = std::max<std::uint64_t>(1, bytes),
         .route = route,
         .first_dependency = static_cast<std::uint32_t>(file_.dependencies.size()),
         .dependencies = static_cast<std::uint32_t>(after.size())});
    file_.dependencies.insert(file_.dependencies.end(), after.begin(), after.end());
    return static_cast<std::uint32_t>(file_.flows.size() - 1);
  }
  void Reserve(std::size_t flows, std::size_t dependencies) {
    file_.flows.reserve(flows);
    file_.dependencies.reserve(dependencies);
  }
  FlowFile Take() { return std::move(file_); }

 private:
  FlowFile file_;
};

// Uniform in [0, 1).
double Share(base::Random& random) {
  return static_cast<double>(random.Below(std::uint64_t{1} << 53)) * 0x1p-53;
}

std::uint64_t AboutAMegabyte(base::Random& random) { return 500'000 + random.Below(1'000'000); }

// Routes of the ring's edges: seven hops inside a server, then one to the next server on the
// channel's rail.
std::vector<std::vector<std::uint32_t>> RingEdges(const RingSize& size, Sheet& sheet) {
  constexpr std::uint32_t kServersPerLeaf = 32;
  CHECK(size.gpus % 8 == 0 && size.gpus >= 16 && size.channels >= 1 && size.channels <= 8);
  const std::uint32_t servers = size.gpus / 8;
  const std::uint32_t pods = (servers + kServersPerLeaf - 1) / kServersPerLeaf;
  std::vector<std::uint32_t> leaf, gpu, nic;  // By rail and pod; by number; by server and rail.
  for (std::uint32_t at = 0; at < 8 * pods; ++at) {
    leaf.push_back(sheet.Cable(kNicRate * kServersPerLeaf));
  }
  for (std::uint32_t at = 0; at < size.gpus; ++at) {
    gpu.push_back(sheet.Cable(kNvlink));
    nic.push_back(sheet.Cable(kNicRate));
  }
  std::vector<std::vector<std::uint32_t>> edges(size.channels);
  for (std::uint32_t channel = 0; channel < size.channels; ++channel) {
    for (std::uint32_t at = 0; at < size.gpus; ++at) {
      const std::uint32_t server = at / 8;
      if (at % 8 < 7) {
        const std::uint32_t from = server * 8 + (channel + at % 8) % 8;
        const std::uint32_t to = server * 8 + (channel + at % 8 + 1) % 8;
        edges[channel].push_back(sheet.Route({Sheet::Up(gpu[from]), Sheet::Down(gpu[to])}));
        continue;
      }
      const std::uint32_t next = (server + 1) % servers;
      const std::uint32_t pod = channel * pods + server / kServersPerLeaf;
      const std::uint32_t next_pod = channel * pods + next / kServersPerLeaf;
      Way way{Sheet::Up(nic[server * 8 + channel])};
      if (pod != next_pod) {
        way.insert(way.end(), {Sheet::Up(leaf[pod]), Sheet::Down(leaf[next_pod])});
      }
      way.push_back(Sheet::Down(nic[next * 8 + channel]));
      edges[channel].push_back(sheet.Route(way));
    }
  }
  return edges;
}

// A k-ary fat tree of hosts with 100 Gbit/s.
class Tree {
 public:
  Tree(const TreeTraffic& traffic, Sheet& sheet)
      : half_(traffic.k / 2), ecmp_(traffic.ecmp), sheet_(sheet) {
    CHECK(traffic.k >= 4 && traffic.k % 2 == 0 && traffic.k <= 64);
    const std::uint32_t edges = traffic.k * half_;
    for (std::uint32_t at = 0; at < edges * half_; ++at) host_.push_back(sheet.Cable(kHost));
    const std::uint64_t trunk = ecmp_ ? kHost : kHost * half_;
    for (std::uint32_t at = 0; at < edges * (ecmp_ ? half_ : 1); ++at) {
      edge_.push_back(sheet.Cable(trunk));
    }
    for (std::uint32_t at = 0; at < traffic.k * (ecmp_ ? half_ * half_ : 1); ++at) {
      pod_.push_back(sheet.Cable(ecmp_ ? kHost : kHost * half_ * half_));
    }
  }

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(host_.size()); }

  // The route between two hosts, the same each time.
  std::uint32_t RouteBetween(std::uint32_t from, std::uint32_t to) {
    const auto [known, fresh] = routes_.try_emplace({from, to}, 0);
    if (fresh) known->second = sheet_.Route(WayBetween(from, to));
    return known->second;
  }

 private:
  Way WayBetween(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t edge = from / half_, to_edge = to / half_;
    const std::uint32_t pod = edge / half_, to_pod = to_edge / half_;
    std::uint32_t hash = from * 2654435761u + to * 40503u * 65537u + 12345u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    const std::uint32_t above = ecmp_ ? hash % half_ : 0;         // Aggregation switch of the pod,
    const std::uint32_t core = ecmp_ ? hash / half_ % half_ : 0;  // and one of its cores.
    const std::uint32_t width = ecmp_ ? half_ : 1;
    Way way{Sheet::Up(host_[from])};
    if (edge != to_edge) {
      way.push_back(Sheet::Up(edge_[edge * width + above]));
      if (pod != to_pod) {
        way.push_back(Sheet::Up(pod_[(pod * width + above) * width + core]));
        way.push_back(Sheet::Down(pod_[(to_pod * width + above) * width + core]));
      }
      way.push_back(Sheet::Down(edge_[to_edge * width + above]));
    }
    way.push_back(Sheet::Down(host_[to]));
    return way;
  }

  std::uint32_t half_;
  bool ecmp_;
  Sheet& sheet_;
  std::vector<std::uint32_t> host_, edge_, pod_;  // Cables; upwards of each.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> routes_;
};

std::pair<std::uint32_t, std::uint32_t> RandomPair(std::uint32_t hosts, base::Random& random) {
  const auto from = static_cast<std::uint32_t>(random.Below(hosts));
  const auto to = static_cast<std::uint32_t>(random.Below(hosts - 1));
  return {from, to + (to >= from ? 1 : 0)};
}

// Bytes and the share of flows that are at most as long.
struct Quantile {
  double bytes, share;
};
constexpr Quantile kWebSearch[] = {{0, 0},     {10e3, .15}, {20e3, .2},  {30e3, .3},
                                   {50e3, .4}, {80e3, .53}, {200e3, .6}, {1e6, .7},
                                   {2e6, .8},  {5e6, .9},   {10e6, .97}, {30e6, 1}};

double WebBytes(double share) {
  std::size_t at = 1;
  while (at + 1 < std::size(kWebSearch) && share > kWebSearch[at].share) ++at;
  const Quantile& low = kWebSearch[at - 1];
  const Quantile& high = kWebSearch[at];
  return low.bytes + (high.bytes - low.bytes) * (share - low.share) / (high.share - low.share);
}

double WebMean() {
  double mean = 0;
  for (std::size_t at = 1; at < std::size(kWebSearch); ++at) {
    mean += (kWebSearch[at - 1].bytes + kWebSearch[at].bytes) / 2 *
            (kWebSearch[at].share - kWebSearch[at - 1].share);
  }
  return mean;
}

}  // namespace

FlowFile StepRing(const RingSize& size) {
  Sheet sheet("step ring");
  const auto edges = RingEdges(size, sheet);
  const std::uint32_t steps = 2 * (size.gpus - 1);
  const std::uint64_t part = size.bytes / (std::uint64_t{size.gpus} * size.channels);
  const std::size_t flows = std::size_t{steps} * size.gpus * size.channels;
  sheet.Reserve(flows, 2 * flows);
  const std::uint32_t step_flows = size.gpus * size.channels;
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t channel = 0; channel < size.channels; ++channel) {
      const std::uint32_t before = (step - 1) * step_flows + channel * size.gpus;
      for (std::uint32_t at = 0; at < size.gpus; ++at) {
        const std::uint32_t route = edges[channel][at];
        if (step == 0) {
          sheet.Flow(0, part, route);
        } else {
          sheet.Flow(0, part, route, {before + (at + size.gpus - 1) % size.gpus, before + at});
        }
      }
    }
  }
  return sheet.Take();
}

FlowFile FluidRing(const RingSize& size) {
  Sheet sheet("fluid ring");
  const auto edges = RingEdges(size, sheet);
  const std::uint64_t bytes =
      2 * std::uint64_t{size.gpus - 1} * size.bytes / (std::uint64_t{size.gpus} * size.channels);
  for (const std::vector<std::uint32_t>& channel : edges) {
    for (std::uint32_t route : channel) sheet.Flow(0, bytes, route);
  }
  return sheet.Take();
}

FlowFile AllToAll(std::uint32_t hosts, bool staggered) {
  constexpr std::uint32_t kRack = 8;
  CHECK(hosts % kRack == 0 && hosts > kRack);
  Sheet sheet(staggered ? "all-to-all, staggered" : "all-to-all, equal");
  base::Random random(1);
  std::vector<std::uint32_t> rack, host;
  for (std::uint32_t at = 0; at < hosts / kRack; ++at) rack.push_back(sheet.Cable(kHost * kRack));
  for (std::uint32_t at = 0; at < hosts; ++at) host.push_back(sheet.Cable(kHost));
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      if (from == to) continue;
      Way way{Sheet::Up(host[from])};
      if (from / kRack != to / kRack) {
        way.insert(way.end(), {Sheet::Up(rack[from / kRack]), Sheet::Down(rack[to / kRack])});
      }
      way.push_back(Sheet::Down(host[to]));
      sheet.Flow(0, staggered ? AboutAMegabyte(random) : 1'000'000, sheet.Route(way));
    }
  }
  return sheet.Take();
}

FlowFile RandomFlows(const TreeTraffic& traffic) {
  Sheet sheet("random flows");
  Tree tree(traffic, sheet);
  base::Random random(2);
  for (std::uint32_t at = 0; at < traffic.flows; ++at) {
    const auto [from, to] = RandomPair(tree.hosts(), random);
    sheet.Flow(0, AboutAMegabyte(random), tree.RouteBetween(from, to));
  }
  return sheet.Take();
}

FlowFile PoissonFlows(const TreeTraffic& traffic) {
  constexpr double kLoad = 0.5;
  Sheet sheet("Poisson arrivals");
  Tree tree(traffic, sheet);
  base::Random random(3);
  const double per_second = kLoad * tree.hosts() * static_cast<double>(kHost) / WebMean();
  double now = 0;
  for (std::uint32_t at = 0; at < traffic.flows; ++at) {
    now -= std::log1p(-Share(random)) / per_second;
    const auto [from, to] = RandomPair(tree.hosts(), random);
    const auto bytes = static_cast<std::uint64_t>(WebBytes(Share(random)));
    sheet.Flow(std::llround(now * 1e12), bytes, tree.RouteBetween(from, to));
  }
  return sheet.Take();
}

}  // namespace eidolon::network::replay
