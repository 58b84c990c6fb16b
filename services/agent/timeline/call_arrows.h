// The arrows of a process that lead from its host's calls to their operations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/agent/timeline/arrow_numbers.h"
#include "services/agent/timeline/recorder.h"

namespace eidolon::agent::timeline {

// Where an operation's slice begins: NCCL's kernel is there before the other ranks are.
base::SimTime StartOf(const Operation& operation);
// Returns how many arrows lead from a call: to all of its operations, or to the first of many.
std::uint32_t ArrowsOf(const HostEvent& event);

// Immutable.
class CallArrows {
 public:
  // Numbers the arrows of what the windows show. Requires: the recorder is closed and has a window.
  explicit CallArrows(const Recorder& recorder);

  // The arrow that leads to an operation; none: its call or itself is not shown.
  std::optional<ArrowNumbers::Number> To(std::uint64_t sequence) const {
    if (sequence < first_ || sequence - first_ >= arrows_.size()) return std::nullopt;
    return arrows_[sequence - first_];
  }

 private:
  std::uint64_t first_ = 0;
  std::vector<std::optional<ArrowNumbers::Number>> arrows_;  // From first_ on.
};

}  // namespace eidolon::agent::timeline
