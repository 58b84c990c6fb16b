// Leaves meet in pods, pods in a core. Oversubscription counts at the leaves and at the pods.
#include <algorithm>

#include "services/network/topology/fabrics.h"
#include "services/network/topology/tiers.h"

namespace eidolon::network::topology {

FabricResult MakeFatTree(const FabricSpec& spec, const FabricSize& size) {
  if (auto checked = CheckTiers(spec); !checked) return std::unexpected(checked.error());
  return std::make_shared<Tiers>(
      Tiers::Plan{.size = size,
                  .by_rail = false,
                  .servers_per_leaf = std::max(1u, spec.cards_per_leaf / size.rails),
                  .leaves_per_pod = spec.leaves_per_pod,
                  .parallel = spec.routing == Routing::kEcmp ? spec.spines : 1,
                  .spines = spec.spines,
                  .oversubscription = spec.oversubscription});
}

}  // namespace eidolon::network::topology
