// Draws what a recorder kept as tracks of a trace: docs/timeline.md says what a reader sees.
//
//   server (process)
//     rank
//       iterations | NVTX | host | one track for each stream | counters
//
// uuid of a server's process: (server + 1) << 40; of a rank's track: that | (process + 1) << 20; of
// the rank's tracks: that + 1, + 2, ...
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "services/agent/cost/cost_cache.h"
#include "services/agent/timeline/recorder.h"
#include "services/agent/timeline/trace_writer.h"

namespace eidolon::agent::timeline {

constexpr std::uint64_t ServerTrack(std::uint32_t server) {
  return (std::uint64_t{server} + 1) << 40;
}

struct Shown {
  std::uint32_t server = 0;
  std::uint32_t process = 0;  // Unique in the server.
  std::int32_t rank = 0;
  const cost::CostCache* costs = nullptr;
  // Makes UTF-8 of what a program wrote.
  std::function<std::string(const std::string&)> plain;
};

// The tracks of one process. Requires: the recorder is closed.
void Render(const Recorder& recorder, const Shown& shown, TraceWriter* writer);

}  // namespace eidolon::agent::timeline
