// `eidolon net flows FILE` and `eidolon net bench`: the flow engine by itself.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::cli::net {

struct FlowsOptions {
  std::string file;
  std::string dump;  // Where the finish of every flow goes, in nanoseconds, a line each.
  double limit_seconds = 1e18;
  bool first_only = false;
};

// One line of JSON: flows, events a second of processor time, the last finish, memory.
base::Result<std::string> ReplayFlows(const FlowsOptions& options);

struct BenchOptions {
  bool quick = false;  // A tenth of the flows.
};

// A table of the engine's speed at the size of large clusters, with goals; the flag tells whether
// all were met.
struct BenchTable {
  std::string text;
  bool met = true;
};
BenchTable MeasureFlows(const BenchOptions& options);

}  // namespace eidolon::cli::net
