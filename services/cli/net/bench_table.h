// `eidolon net bench`: the flow engine's speed beside its goals, and beside SimGrid's recorded one.
#pragma once

#include <string>

namespace eidolon::cli::net {

struct BenchOptions {
  bool quick = false;  // A tenth of the flows of the largest workloads.
};

struct BenchTable {
  std::string text;
  bool met = true;  // All goals.
};

BenchTable MeasureFlows(const BenchOptions& options);

}  // namespace eidolon::cli::net
