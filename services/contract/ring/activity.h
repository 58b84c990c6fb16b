// What a profiler inside the rank's process learns of its device operations (CUPTI's activity
// records): who issued an operation is known to the shim, when it ran only to the agent.
//
// The shim asks by kActivity. From kStart to kStop the agent keeps the times of operations that
// records of work issue, at most kKeptOperationsMax; kTake hands over those that ended until the
// question's clock and forgets them. The answer's payload is CompletedOperation[]; `extra` counts
// what was dropped since the last answer, because too much was kept; value_ps is 1 when more wait
// to be taken, else 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/ring/layout.h"

namespace eidolon::ring {

enum class ActivityRequest : std::uint64_t { kStop = 0, kStart = 1, kTake = 2 };

struct CompletedOperation {
  std::uint64_t record;    // Position in the ring of the record that issued it.
  std::uint32_t index;     // Among the operations of that record, from 0.
  std::uint32_t node;      // Launches of graphs: GraphNode::id of its node. Else 0.
  std::uint64_t start_ps;  // A collective's kernel starts when this rank is ready for it.
  std::uint64_t end_ps;
};
static_assert(sizeof(CompletedOperation) == 32);

inline constexpr std::size_t kOperationsInAnswer = kPayloadBytes / sizeof(CompletedOperation);
inline constexpr std::size_t kKeptOperationsMax = std::size_t{1} << 20;

}  // namespace eidolon::ring
