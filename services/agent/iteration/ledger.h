// The ledger of one rank: every resolved operation by its place in program order, until the
// iteration it belongs to is complete and can be split.
//
// An iteration runs from one boundary to the next. A boundary is a place in program order; its time
// is the later of the host's clock there and the end of all work issued before it, so an iteration
// ends when its work is done and not when the host, which may run far ahead, has issued it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "services/agent/iteration/split.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::iteration {

// A place in a rank's program: the next operation's sequence number, the host's clock, and how much
// of that the host waited (for work of the GPU, for other ranks, for a moment).
struct Mark {
  std::uint64_t sequence = 0;
  base::SimTime host_clock;
  base::Duration waited;
};

struct Report {
  std::uint32_t index = 0;
  // Its operations: [sequence_begin, sequence_end).
  std::uint64_t sequence_begin = 0;
  std::uint64_t sequence_end = 0;
  base::SimTime start;
  base::SimTime end;
  base::Duration
      host_work;  // Of the program between its boundaries, whatever the GPU did meanwhile.
  Split split;
  std::vector<TableUse> tables;
  std::optional<Inputs> inputs;
};

// All of a program, also what belongs to no iteration; where operations were forgotten, their sums
// are kept.
struct Program {
  base::SimTime end;  // It begins at 0.
  base::Duration host_work;
  Split split;
};

// This class is not thread-safe.
class Ledger {
 public:
  // Operations kept while no boundary is known; beyond it Take forgets the oldest, and the
  // iteration they belong to counts but is not reported.
  static constexpr std::size_t kKeptOperations = 1'000'000;

  // An operation was resolved. Each sequence number is added once, in any order.
  void Add(std::uint64_t sequence, const Interval& interval);

  // An iteration ends here and the next begins. Marks come in program order; an early one may lie
  // far in the past.
  void AddBoundary(const Mark& mark);

  // The first iteration begins here: what came before belongs to none. Before any boundary.
  void BeginAt(const Mark& mark);

  // The next iteration whose operations are all resolved, in order; nothing when there is none yet.
  std::optional<Report> Take(std::span<const Basis> bases);

  // The program ended; what is not resolved by now never is. Call once, at last.
  Program Close(const Mark& mark, std::span<const Basis> bases);

  // Boundaries so far: iterations that ended, reported or not.
  std::uint32_t ended() const { return ended_; }
  // Iterations whose operations were all resolved.
  std::uint32_t taken() const { return next_index_; }

 private:
  struct Entry {
    Interval interval;
    bool resolved = false;
  };
  // Moves the entries before `mark` into one window that ends at its clock or with the last of
  // them.
  Report Cut(const Mark& mark, std::span<const Basis> bases);

  std::deque<Entry> entries_;  // Of first_, first_ + 1, ...
  std::uint64_t first_ = 0;
  std::uint64_t prefix_ = 0;  // All below this sequence are resolved.
  bool begins_late_ = false;  // The first boundary is where the first iteration begins.
  bool dropped_ = false;      // Part of the coming iteration was forgotten.
  base::SimTime latest_;      // End of the last reported iteration or dropped work.
  base::Duration worked_;     // Of the host, until the last boundary that was taken.
  std::deque<Mark> boundaries_;
  std::uint32_t ended_ = 0;
  std::uint32_t next_index_ = 0;
  Split program_;                             // Sums of what was cut so far, but for the times.
  std::map<std::uint32_t, BasisTime> times_;  // By basis.
};

}  // namespace eidolon::agent::iteration
