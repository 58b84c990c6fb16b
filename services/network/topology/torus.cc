// Servers on a grid that closes in each dimension. A route goes along one dimension after another,
// the shorter way round; half way round it takes the positive direction.
#include <algorithm>

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"
#include "services/network/topology/detour.h"
#include "services/network/topology/fabrics.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Links: by server, dimension, direction (0 up, 1 down).
class Torus final : public Fabric {
 public:
  Torus(const FabricSpec& spec, const FabricSize& size) : dimensions_(spec.dimensions) {
    const std::uint64_t link =
        spec.link_gigabits_per_second > 0
            ? static_cast<std::uint64_t>(spec.link_gigabits_per_second * 1e9 / 8)
            : SummedCapacity(size.rail_rate, size.rails, spec.oversubscription);
    capacities_.assign(std::size_t{2} * size.servers * dimensions_.size(), link);
  }

  void Append(Port from, Port to, std::uint32_t, LinkIndex first, Route& route) const override {
    std::uint32_t at = from.server;
    std::uint32_t stride = 1;
    for (std::uint32_t axis = 0; axis < dimensions_.size(); ++axis) {
      const std::uint32_t length = dimensions_[axis];
      std::uint32_t here = at / stride % length;
      const std::uint32_t there = to.server / stride % length;
      const std::uint32_t ahead = (there + length - here) % length;
      const bool up = ahead <= length / 2;
      for (std::uint32_t steps = up ? ahead : length - ahead; steps > 0; --steps) {
        route.Append(first + LinkOf(at, axis, up));
        const std::uint32_t next = (here + (up ? 1 : length - 1)) % length;
        at = at + next * stride - here * stride;
        here = next;
      }
      stride *= length;
    }
  }

  std::string LinkName(LinkIndex link) const override {
    const std::uint32_t axis = link / 2 % static_cast<std::uint32_t>(dimensions_.size());
    return StrCat("server ", link / 2 / dimensions_.size(), ", dimension ", axis,
                  link % 2 == 0 ? ", up" : ", down");
  }
  std::string_view TierOf(LinkIndex) const override { return "torus"; }
  bool Blocks() const override { return true; }
  std::shared_ptr<const Fabric> Without(const std::vector<bool>& failed) const override {
    std::vector<Wire> wires;
    const auto axes = static_cast<std::uint32_t>(dimensions_.size());
    const auto servers = static_cast<std::uint32_t>(capacities_.size()) / (2 * axes);
    for (std::uint32_t server = 0; server < servers; ++server) {
      std::uint32_t stride = 1;
      for (std::uint32_t axis = 0; axis < axes; ++axis) {
        const std::uint32_t length = dimensions_[axis];
        const std::uint32_t here = server / stride % length;
        const std::uint32_t line = server - here * stride;
        for (const bool up : {true, false}) {
          const std::uint32_t there = (here + (up ? 1 : length - 1)) % length;
          wires.push_back({server, line + there * stride, LinkOf(server, axis, up)});
        }
        stride *= length;
      }
    }
    return std::make_shared<Detour>(std::make_shared<Torus>(*this), wires, servers, 1, failed);
  }
  std::vector<Edge> Edges() const override {
    std::vector<Edge> edges;
    const auto axes = static_cast<std::uint32_t>(dimensions_.size());
    const auto servers = static_cast<std::uint32_t>(capacities_.size()) / (2 * axes);
    for (std::uint32_t server = 0; server < servers; ++server) {
      std::uint32_t stride = 1;
      for (std::uint32_t length : dimensions_) {
        const std::uint32_t here = server / stride % length;
        const std::uint32_t next = server - here * stride + (here + 1) % length * stride;
        // Between two servers of a dimension one edge stands for both.
        if (length > 2 || (length == 2 && here == 0)) {
          edges.push_back({StrCat("server ", server), StrCat("server ", next), capacities_[0]});
        }
        stride *= length;
      }
    }
    return edges;
  }

 private:
  LinkIndex LinkOf(std::uint32_t server, std::uint32_t axis, bool up) const {
    return 2 * (server * static_cast<std::uint32_t>(dimensions_.size()) + axis) + (up ? 0 : 1);
  }

  std::vector<std::uint32_t> dimensions_;
};

}  // namespace

FabricResult MakeTorus(const FabricSpec& spec, const FabricSize& size) {
  std::uint64_t servers = 1;
  std::uint64_t hops = 0;
  for (std::uint32_t length : spec.dimensions) {
    if (length < 1 || length > cluster::kDimensionMax) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("fabric.dimensions has ", length, "; it must be between 1 and ",
                         cluster::kDimensionMax));
    }
    servers *= length;
    hops += length / 2;
    if (servers > (1u << 20)) break;
  }
  if (spec.dimensions.empty() || servers != size.servers) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric.dimensions hold ", spec.dimensions.empty() ? 0 : servers,
                       " servers, but the cluster has ", size.servers));
  }
  if (hops + 4 > Route::kLinksMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("routes through the torus have up to ", hops, " links; at most ",
                       Route::kLinksMax - 4, " are simulated"));
  }
  return std::make_shared<Torus>(spec, size);
}

}  // namespace eidolon::network::topology
