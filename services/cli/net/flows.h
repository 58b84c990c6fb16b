// `eidolon net flows FILE`: the flow engine on a file of flows.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::cli::net {

// Returns the processor time of all threads of this process so far.
double ProcessorSeconds();

struct FlowsOptions {
  std::string file;
  std::string dump;  // Where the finish of every flow goes, in nanoseconds, a line each.
  double limit_seconds = 1e18;
  bool first_only = false;
};

// One line of JSON: flows, events a second of processor time, the last finish, memory.
base::Result<std::string> ReplayFlows(const FlowsOptions& options);

}  // namespace eidolon::cli::net
