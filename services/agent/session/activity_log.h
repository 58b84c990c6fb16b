// The operations of one process that ran while a profiler inside it watches
// (services/contract/ring/ activity.h). Nothing is kept while none does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/session/replies.h"
#include "services/base/sim_time.h"
#include "services/contract/ring/activity.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// Owned by its session. Main loop only. The operations of a record have consecutive sequence
// numbers, which the engine gives in the order of the records.
class ActivityLog {
 public:
  using Operation = ::eidolon::ring::CompletedOperation;

  bool watched() const { return watched_; }

  // The record at `position` is being applied; what it issues is numbered from `sequence` on.
  // `nodes`: for the launch of a graph, the identifiers of the nodes that become operations.
  void BeginRecord(std::uint64_t position, std::uint64_t sequence,
                   std::vector<std::uint32_t> nodes = {});
  // It was applied, or stalled: what comes is numbered from `sequence` on.
  void EndRecord(std::uint64_t sequence);
  // Host functions and operations that were issued before are left out.
  void Add(const device::ResolvedOp& op);

  // Answers a kActivity question. Requires: ring::CheckRecord passed.
  void Answer(const ::eidolon::ring::WaitRecord& question, Replies* replies);

 private:
  struct Record {
    std::uint64_t position = 0;
    std::uint64_t first = 0;   // Sequence of its first operation.
    std::int64_t pending = 0;  // Issued and not resolved; below 0 while it is being applied.
    std::vector<std::uint32_t> nodes;
  };
  void Take(base::SimTime until, std::vector<Operation>* taken);

  bool watched_ = false;
  bool applying_ = false;
  std::deque<Record> records_;      // In order; those in front are not all resolved.
  std::deque<Operation> resolved_;  // In the order in which they were resolved.
  std::uint64_t dropped_ = 0;
};

}  // namespace eidolon::agent::session
