// Replaying a flow file on the flow engine.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_engine.h"
#include "services/network/replay/flow_file.h"

namespace eidolon::network::replay {

struct ReplayOptions {
  // Seconds of processor time that this thread has used; the replay stops when it exceeds the
  // limit.
  std::function<double()> processor_seconds;
  double limit_seconds = 1e18;
  bool first_only = false;  // Only the rates of the flows that start at once.
};

struct ReplayResult {
  std::vector<base::SimTime> finish;  // By flow; Max() for those that have not ended.
  std::uint64_t completed = 0;
  std::uint64_t events = 0;        // Starts and ends.
  std::uint64_t events_first = 0;  // Starts before the first solution.
  std::uint64_t instants = 0;      // Times at which flows ended.
  double first_solve_seconds = 0;
  double seconds = 0;
  bool truncated = false;
  std::size_t bytes_used = 0;  // By the engine, at its largest.
  flow::FlowEngine::Counters counters;
};

ReplayResult Replay(const FlowFile& file, const ReplayOptions& options);

}  // namespace eidolon::network::replay
