// The `fabric` of a cluster's description: the network between servers, what happens to it, and who
// else uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/cluster/cluster_spec.h"
#include "services/contract/cluster/fields.h"

namespace eidolon::cluster {

// A whole number of a plan.
struct PlanField {
  const char* name;
  std::uint32_t FabricSpec::*value;
  std::int64_t most;
  std::vector<std::string_view> kinds;  // That it is refused outside of; none: nowhere.
};

const std::vector<PlanField>& PlanFields();

// Fails with a sentence "fabric.FIELD ..." when no network can be built from the description. Asked
// when nothing else is wrong with the plan. None: whoever builds the network will tell.
using PlanCheck = std::function<base::Result<void>(const ClusterSpec&)>;

// Fills the fabric of `spec`, whose servers and NICs are known, and finishes the reader. What the
// kind of network cannot be built from is reported by the field's name.
void ReadFabric(Fields& fabric, const PlanCheck& check, ClusterSpec& spec);

}  // namespace eidolon::cluster
