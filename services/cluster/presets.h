// Server presets: machines one can buy. A preset fills a cluster's `server`; any field overrides
// it.
#pragma once

#include <string>
#include <vector>

#include "services/controller/job/cluster.h"

namespace eidolon::controller::job {

// Names of all presets, sorted.
std::vector<std::string> ServerPresetNames();

// Overwrites the server part of `spec`. Requires: `name` is one of ServerPresetNames().
void ApplyServerPreset(const std::string& name, ClusterSpec* spec);

}  // namespace eidolon::controller::job
