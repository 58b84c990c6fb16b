#include "services/network/topology/fabrics.h"

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"

namespace eidolon::network::topology {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

struct Kind {
  std::string_view name;
  FabricResult (*make)(const FabricSpec&, const FabricSize&);
};

constexpr Kind kKinds[] = {
    {"rail-optimised", MakeRailOptimised}, {"fat-tree", MakeFatTree}, {"leaf-spine", MakeLeafSpine},
    {"dragonfly", MakeDragonfly},          {"torus", MakeTorus},      {"graph", MakeGraph}};

// One server, or servers that meet over NVLink alone.
class NoFabric final : public Fabric {
 public:
  void Append(Port, Port, std::uint32_t, LinkIndex, Route&) const override {}
  std::string LinkName(LinkIndex) const override { return "none"; }
  std::string_view TierOf(LinkIndex) const override { return "none"; }
  std::vector<Edge> Edges() const override { return {}; }
};

}  // namespace

base::Result<void> CheckFabric(const FabricSpec& spec, const FabricSize& size) {
  if (spec.kind == "graph" && size.servers > 1 && size.rails > 0) {
    if (auto checked = CheckGraph(spec, size); !checked) return std::unexpected(checked.error());
    return {};
  }
  // The other kinds' ways follow from positions: there is nothing to look for.
  if (auto made = MakeFabric(spec, size); !made) return std::unexpected(made.error());
  return {};
}

FabricResult MakeFabric(const FabricSpec& spec, const FabricSize& size) {
  const bool needless = size.servers <= 1 || size.rails == 0;
  if (spec.kind == "none" || spec.kind.empty()) return std::make_shared<NoFabric>();
  const double link = spec.link_gigabits_per_second;
  if (!(link == 0 || (link >= cluster::kLinkGigabitsMin && link <= cluster::kLinkGigabitsMax))) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric.linkGbps is ", link, "; it must be between 0.1 and 1e6"));
  }
  for (const Kind& kind : kKinds) {
    if (kind.name != spec.kind) continue;
    if (needless) return std::make_shared<NoFabric>();
    return kind.make(spec, size);
  }
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("fabric '", spec.kind, "' is unknown; ",
                     base::Join(cluster::FabricKinds(), ", "), " are known"));
}

}  // namespace eidolon::network::topology
