// What would help a recorded job: changes of its cluster, each to be replayed. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/cli/replay_document.h"

namespace eidolon::cli {

struct WhatIf {
  std::string name;  // For people.
  ReplayChanges changes;
};

// Those that make sense for what was recorded. `gpu`: the other GPU to ask about; empty: the
// following generation of the recorded one, where there is a model of it.
std::vector<WhatIf> WhatIfsOf(const RecordedJob& recorded, const std::string& gpu);

struct WhatIfResult {
  std::string name;
  nlohmann::json job;  // Over.
};
// A line for each, what helps most first. `base`: the replay without changes.
std::string FormatWhatIfs(const nlohmann::json& base, const std::vector<WhatIfResult>& results);

}  // namespace eidolon::cli
