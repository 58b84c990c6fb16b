// A job as this server sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "eidolon/controller/v1/controller.pb.h"
#include "services/agent/device/operation.h"
#include "services/agent/outcome/line_pattern.h"
#include "services/agent/ring/segment.h"
#include "services/base/sim_time.h"
#include "services/contract/folding/fold.h"

namespace eidolon::agent::server {

// The assignment and what follows from it.
struct JobParts {
  controller::v1::Assignment assignment;
  ring::SegmentContent content;
  std::vector<device::Traits> traits;    // Of average GPUs.
  std::uint32_t default_milliwatts = 0;  // The GPU's power limit without server.powerLimit.
  bool varies = false;                   // GPUs of ranks are not equal.
  bool has_fixed_durations = false;      // Of the GPU: nothing is estimated.
  std::optional<outcome::LinePattern> log_pattern;
  folding::Fold fold;  // Which ranks of the job run.

  // Returns the ranks of this server that run.
  std::uint32_t live_ranks() const {
    const std::uint32_t all = assignment.ranks_per_server();
    if (!fold.is_folded()) return all;
    return static_cast<std::uint32_t>(fold.LiveOn(assignment.server(), all).size());
  }
};

}  // namespace eidolon::agent::server
