// Asks what would help a recorded job: changes of its cluster, each to be replayed. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/cli/replay_document.h"

namespace eidolon::cli {

struct WhatIf {
  std::string name;  // For people.
  // Each is replayed, and the slowest replay is the answer. Communication that computation hides
  // as well as can be needs two: the work without communication, and the communication alone.
  std::vector<ReplayChanges> replays;
};

// Those that make sense for what was recorded. `gpu`: the other GPU to ask about; empty: the
// following generation of the recorded one, where there is a model of it.
std::vector<WhatIf> WhatIfsOf(const RecordedJob& recorded, const std::string& gpu);

struct WhatIfResult {
  std::string name;
  std::vector<nlohmann::json> jobs;  // Over; as many as there are replays.
  std::string refusal = {};          // Why one was not taken; the rest is not asked then.
};

// {"iterationSeconds": as it is, "notAnswered": how many, "whatIfs": [{"name", "iterationSeconds",
// "change", "fits"} or {"name", "message"}]}, what helps most first; what was not answered comes
// last. `base`: the replay without changes.
nlohmann::json WhatIfsToJson(const nlohmann::json& base, const std::vector<WhatIfResult>& results);
// Adds to each finding of the job's diagnosis what a replay without its fault has given: the bound
// of a finding holds everything else as it is, a replay simulates it.
void AddReplays(const nlohmann::json& answers, nlohmann::json* job);
// A line for each.
std::string FormatWhatIfs(const nlohmann::json& answers);

}  // namespace eidolon::cli
