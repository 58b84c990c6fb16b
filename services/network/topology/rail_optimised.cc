// A leaf takes the NICs of one rail, so that traffic which stays on its rail crosses one switch.
#include "services/network/topology/fabrics.h"
#include "services/network/topology/tiers.h"

namespace eidolon::network::topology {

FabricResult MakeRailOptimised(const FabricSpec& spec, const FabricSize& size) {
  if (auto checked = CheckTiers(spec); !checked) return std::unexpected(checked.error());
  return std::make_shared<Tiers>(
      Tiers::Plan{.size = size,
                  .by_rail = true,
                  .servers_per_leaf = spec.cards_per_leaf,
                  .leaves_per_pod = 0,
                  .parallel = spec.routing == Routing::kEcmp ? spec.spines : 1,
                  .spines = spec.spines,
                  .oversubscription = spec.oversubscription});
}

}  // namespace eidolon::network::topology
