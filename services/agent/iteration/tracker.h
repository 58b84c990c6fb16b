// The iterations of one rank: cuts the rank's virtual time into windows, splits each, and puts
// windows together to iterations, found by repetition or named by the user.
//
// Call order, in the program's order: Issued for each operation that gets a sequence number, Cut
// where the host waited, Boundary where the user's range or log line stood. Resolved comes in any
// order; a window is split once every operation issued before its end is resolved, so the result is
// a function of the program alone. Later operations cannot reach into it: the host calls them after
// it has waited.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "services/agent/iteration/repetition.h"
#include "services/agent/iteration/timeline.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::iteration {

struct Iteration {
  std::uint32_t index = 0;  // From 0, warm-up included.
  base::SimTime begin;
  base::SimTime end;
  Split split;
};

enum class Rule { kRepetition, kNamed };

// Not thread safe: the agent's main loop owns it.
class Tracker {
 public:
  explicit Tracker(Rule rule) : rule_(rule) {}

  // An operation with this sequence number (0, 1, 2, ...) was issued; `symbol` identifies what it
  // is.
  void Issued(std::uint64_t sequence, std::uint64_t symbol);
  void Resolved(std::uint64_t sequence, const Span& span);
  // An operation that will never be resolved by itself (its communicator failed).
  void Dropped(std::uint64_t sequence);

  // The host waited for the device and went on at `clock`.
  void Cut(base::SimTime clock);
  // A boundary named by the user. Ignored with Rule::kRepetition.
  void Boundary(base::SimTime clock);
  // The program ended.
  void Finish();

  // Iterations completed since the last call, oldest first. When `restarted` is set, all earlier
  // ones were wrong and numbering began anew.
  struct News {
    std::vector<Iteration> iterations;
    bool restarted = false;
  };
  News TakeNews();

 private:
  // Between two cuts.
  struct Window {
    base::SimTime begin, end;
    std::uint64_t sequence_end = 0;  // Operations below were issued before its end.
    bool split_done = false;
    Split split;
  };
  struct Wanted {
    std::size_t first, last;  // Cut numbers.
    bool restarts;
  };

  void AddWindow(base::SimTime clock);
  void Want(const Repetition::Match& match);
  void SplitReadyWindows();
  void EmitReady();

  const Rule rule_;
  Repetition repetition_;
  std::uint64_t issued_ = 0;
  std::uint64_t resolved_below_ = 0;     // All operations below are resolved.
  std::vector<std::uint64_t> resolved_;  // Heap of resolved ones at or above it.
  std::vector<Span> spans_;              // Of windows not split yet.
  std::deque<Window> windows_;           // windows_[i] ends at cut first_window_ + i.
  std::size_t first_window_ = 0;
  std::size_t next_split_ = 0;  // Cut number of the first window not split.
  base::SimTime last_cut_;
  std::deque<Wanted> wanted_;
  std::size_t last_named_ = 0;
  bool any_named_ = false;
  std::uint32_t next_index_ = 0;
  News news_;
};

}  // namespace eidolon::agent::iteration
