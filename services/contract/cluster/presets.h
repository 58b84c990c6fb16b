// Presets: machines one can buy, and the networks that they usually come with. A preset fills what
// a cluster's document leaves open; any field overrides it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/cluster/cluster_spec.h"

namespace eidolon::cluster {

// Names of all presets, sorted.
std::vector<std::string> PresetNames();
bool IsPreset(std::string_view name);

// A cluster of so many servers as one unit has: a rack of NVL72, else one server. Requires: `name`
// is one of PresetNames().
ClusterSpec MakePreset(std::string_view name);

}  // namespace eidolon::cluster
