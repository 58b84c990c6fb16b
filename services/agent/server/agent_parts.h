// The small records that the agent keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/device/operation.h"
#include "services/agent/outcome/line_pattern.h"
#include "services/agent/ring/segment.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::server {

// The assignment and what follows from it.
struct JobParts {
  controller::v1::Assignment assignment;
  ring::SegmentContent content;
  std::vector<device::Traits> traits;
  std::optional<outcome::LinePattern> log_pattern;
};

// A process whose socket hung up: its exit status shows in /proc for a moment.
struct DyingRank {
  std::uint32_t process = 0;
  std::int64_t since_ns = 0;
  ::eidolon::ring::Farewell farewell{};  // What it had said by then.
};

// What the network was told last.
struct HorizonClaim {
  base::SimTime bound{-1};
  std::uint64_t processed = 0;
  bool quiescent = false;
  base::SimTime wanted;

  bool operator==(const HorizonClaim&) const = default;
};

}  // namespace eidolon::agent::server
