// Finds the training loop in what a rank launches: the shortest stretch of launches that ends where
// the host waits and stood there two times before.
//
// Launches are symbols (kernel, grid and block; or the shape of a library call or copy; not
// parameters, which change from step to step). Places where the host waited for the device are
// cuts: a loop that reads its loss has one at the same place of every step, while layers inside a
// step repeat without waiting.
//
// A period found is kept until it breaks (a step that logs or evaluates); it is then searched anew.
// Where a program waits inside its layers, those look like a loop for a while: when a period at
// least twice as long is found later, what was reported before was no iteration (Match::restarts).
// A user can always name the boundary instead.
//
// Cost: a multiplication per launch, and a few comparisons of 64-bit hashes per cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace eidolon::agent::iteration {

// One rank's launch sequence. Not thread safe.
class Repetition {
 public:
  void AddLaunch(std::uint64_t symbol);

  // `cuts` are numbered from 0 in the order of AddCut.
  struct Match {
    std::vector<std::size_t> boundaries;  // Cut numbers: each two neighbours bound a new iteration.
    bool restarts = false;                // Iterations reported before were parts of these.
  };
  // The host waited here. Returns the iterations that this cut completes, if any.
  std::optional<Match> AddCut();

  // The program ended: with no period found so far, two repetitions are enough.
  std::optional<Match> Finish();

 private:
  struct Cut {
    std::size_t number;
    std::size_t position;  // Launches before it.
  };

  bool IsPeriodic(std::size_t end, std::size_t period, int repeats) const;
  const Cut* CutAt(std::size_t position) const;
  std::optional<Match> Search(int repeats);
  std::optional<Match> Continue();
  std::uint64_t HashOf(std::size_t begin, std::size_t end) const;
  void ForgetOldest();

  std::vector<std::uint64_t> prefix_ = {0};  // Polynomial hashes of the launches from first_ on.
  std::vector<std::uint64_t> power_ = {1};
  std::size_t first_ = 0;     // Position of prefix_[0].
  std::size_t position_ = 0;  // Launches so far.
  std::deque<Cut> cuts_;
  std::size_t next_cut_ = 0;
  std::size_t period_ = 0;         // 0: none found, or broken.
  std::size_t last_period_ = 0;    // The last one found, for `restarts`.
  std::size_t last_boundary_ = 0;  // Position of the last reported boundary.
};

}  // namespace eidolon::agent::iteration
