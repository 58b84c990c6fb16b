// The `fabric` of a simulated cluster's document: the network between servers, what happens to it,
// and who else uses it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "services/controller/job/cluster.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

inline constexpr std::int64_t kServersMax = 4096;  // Of a cluster.

// Fills the fabric of `spec`, whose servers and cards are known, and finishes the reader. What the
// kind of network cannot be built from is reported by the field's name.
void ReadFabric(Fields* fabric, ClusterSpec* spec);

// The complete `fabric`, without fields that its kind has no use for.
nlohmann::json FabricToJson(const ClusterSpec& spec);

}  // namespace eidolon::controller::job
