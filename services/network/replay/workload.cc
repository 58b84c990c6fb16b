// Equal sizes would let a whole round end at one instant, and the engine would solve once for all
// of it. So sizes are drawn between 4 and 8 MB, and flows end one by one. A NIC's flow of each
// round waits for its flow of the round before: the number of running flows stays that of the NICs.
#include "services/network/replay/workload.h"

#include "services/base/check.h"
#include "services/base/random.h"

namespace eidolon::network::replay {
namespace {

constexpr std::uint32_t kRails = 8;
constexpr std::uint32_t kServersPerLeaf = 32;

// Links: out and in of each NIC, then up and down of each leaf.
class Fabric {
 public:
  explicit Fabric(const WorkloadSize& size)
      : servers_(size.gpus / kRails),
        leaves_per_rail_((servers_ + kServersPerLeaf - 1) / kServersPerLeaf) {
    CHECK(size.gpus % kRails == 0 && servers_ > 1);
    file.capacities.assign(std::size_t{2} * servers_ * kRails, kNicRate);
    file.capacities.insert(file.capacities.end(), std::size_t{2} * leaves_per_rail_ * kRails,
                           kNicRate * kServersPerLeaf);
    file.flows.reserve(std::size_t{size.gpus} * size.rounds);
  }

  std::uint32_t servers() const { return servers_; }

  // A flow over a route of its own; it waits for `before` when that is a flow.
  void Add(std::uint32_t rail, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
           std::int64_t before) {
    const std::uint32_t from_leaf = LeafOf(rail, from);
    const std::uint32_t to_leaf = LeafOf(rail, to);
    file.route_links.push_back(2 * Nic(rail, from));
    if (from_leaf != to_leaf) {
      file.route_links.push_back(first_leaf() + 2 * from_leaf);
      file.route_links.push_back(first_leaf() + 2 * to_leaf + 1);
    }
    file.route_links.push_back(2 * Nic(rail, to) + 1);
    file.route_begin.push_back(static_cast<std::uint32_t>(file.route_links.size()));
    FlowFile::Flow flow{.bytes = bytes,
                        .route = static_cast<std::uint32_t>(file.route_begin.size() - 2),
                        .first_dependency = static_cast<std::uint32_t>(file.dependencies.size())};
    if (before >= 0) {
      flow.dependencies = 1;
      file.dependencies.push_back(static_cast<std::uint32_t>(before));
    }
    file.flows.push_back(flow);
  }

  FlowFile file;

 private:
  std::uint32_t Nic(std::uint32_t rail, std::uint32_t server) const {
    return rail * servers_ + server;
  }
  std::uint32_t LeafOf(std::uint32_t rail, std::uint32_t server) const {
    return rail * leaves_per_rail_ + server / kServersPerLeaf;
  }
  std::uint32_t first_leaf() const { return 2 * servers_ * kRails; }

  std::uint32_t servers_;
  std::uint32_t leaves_per_rail_;
};

// Sends to `To`: the receiving server of a sender.
template <typename To>
FlowFile Make(const WorkloadSize& size, std::string name, const To& to) {
  Fabric fabric(size);
  fabric.file.name = std::move(name);
  base::Random random(11);
  for (std::uint32_t round = 0; round < size.rounds; ++round) {
    for (std::uint32_t rail = 0; rail < kRails; ++rail) {
      for (std::uint32_t server = 0; server < fabric.servers(); ++server) {
        const auto number = static_cast<std::int64_t>(fabric.file.flows.size());
        const std::uint64_t bytes = 4'000'000 + random.Below(4'000'000);
        fabric.Add(rail, server, to(server, fabric.servers(), random), bytes,
                   round == 0 ? -1 : number - size.gpus);
      }
    }
  }
  return std::move(fabric.file);
}

}  // namespace

FlowFile RailRings(const WorkloadSize& size) {
  return Make(size, "rail rings", [](std::uint32_t server, std::uint32_t servers, base::Random&) {
    const std::uint32_t first = server / kServersPerLeaf * kServersPerLeaf;
    const std::uint32_t members = std::min(kServersPerLeaf, servers - first);
    return members > 1 ? first + (server - first + 1) % members : (server + 1) % servers;
  });
}

FlowFile RandomPairs(const WorkloadSize& size) {
  return Make(size, "random pairs",
              [](std::uint32_t server, std::uint32_t servers, base::Random& random) {
                const auto other = static_cast<std::uint32_t>(random.Below(servers - 1));
                return other + (other >= server ? 1 : 0);
              });
}

}  // namespace eidolon::network::replay
