// A leaf takes all NICs of a few servers, as Ethernet networks are usually built.
#include <algorithm>

#include "services/network/topology/fabrics.h"
#include "services/network/topology/tiers.h"

namespace eidolon::network::topology {

FabricResult MakeLeafSpine(const FabricSpec& spec, const FabricSize& size) {
  if (auto checked = CheckTiers(spec); !checked) return std::unexpected(checked.error());
  return std::make_shared<Tiers>(
      Tiers::Plan{.size = size,
                  .by_rail = false,
                  .servers_per_leaf = std::max(1u, spec.cards_per_leaf / size.rails),
                  .leaves_per_pod = 0,
                  .parallel = spec.routing == Routing::kEcmp ? spec.spines : 1,
                  .spines = spec.spines,
                  .oversubscription = spec.oversubscription});
}

}  // namespace eidolon::network::topology
