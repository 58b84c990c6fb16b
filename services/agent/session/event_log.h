// The event log of one process: a line for each resolved operation, in program order, so that two
// runs can be compared byte by byte.
//
//   rank <r> device <d> stream <s> op <n> <name> start <ps> end <ps>
#pragma once

#include <cstdint>
#include <deque>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "services/agent/device/operation.h"

namespace eidolon::agent::session {

// Main loop only. Lines wait for the operations before them.
class EventLog {
 public:
  // Writes to `path`, a file of this process's own until JoinEventLogs, which adds the rank.
  explicit EventLog(std::string path);

  void Add(const device::ResolvedOp& op, const std::string& name);
  // Operations from `sequence` on do not belong to the log, also those that were added already.
  void EndAt(std::uint64_t sequence) { end_ = sequence; }
  // No more operations will be resolved: writes what is there, in order.
  void Finish();
  const std::string& path() const { return path_; }
  std::optional<std::uint64_t> end() const { return end_; }

 private:
  std::string path_;
  std::ofstream file_;
  std::uint64_t first_ = 0;  // Sequence of waiting_.front().
  std::optional<std::uint64_t> end_;
  std::deque<std::optional<std::string>> waiting_;
};

// One process's part of a log.
struct EventLogPart {
  std::optional<int> rank;  // None: it is not a rank, and its part is left out.
  std::string path;
  std::optional<std::uint64_t> lines_max;  // The rest is left out.
};

// Puts the parts behind each other in the order of their ranks, and removes them. A part that
// somebody made into something else ends where that shows.
void JoinEventLogs(std::vector<EventLogPart> parts, const std::string& target);

}  // namespace eidolon::agent::session
