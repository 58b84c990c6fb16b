// Finds where a rank's iterations begin by looking at what it launches.
//
// Rule, in short: an iteration ends with the optimizer.
//   * A launch is an *update* when its kernel is an optimizer's (its name says Adam, SGD, ...) or,
//     as long as none such was seen, one of PyTorch's multi-tensor kernels other than copies. Graph
//     launches are fed node by node.
//   * The launches between two updates are a *gap*. Forward and backward are one long gap, whatever
//     the number of accumulated micro-batches; the gaps inside an optimizer step are short.
//   * Gaps at least half as long as the longest so far are the long ones, unless they are under a
//     twentieth of what came before the first update (short cycles, as autotuning makes them, count
//     once there). When two long gaps were seen, an iteration ends before each of them; from then
//     on as soon as a gap has grown long.
//   * Several optimizers that take turns (a GAN) make one iteration: the updates before the long
//     gaps are searched for the shortest period, up to 8. All of them repeat it, or else so many of
//     the last ones that no longer period up to 8 is possible: a first step may differ. Updates
//     whose parameters change in every step (one of them is its number) never repeat: 9 in a row
//     are all different. Kernel, grid and block alone distinguish them.
//   * The last iteration ends behind its last update: what a program does before it exits (leaving
//     its process group, waiting for helpers) is not part of a step.
//
// This does not ask for equal sequences, so warm-up, logging every n-th step and changing data do
// no harm.
//
// Multi-tensor kernels alone need four long gaps, because some programs use them in every layer.
//
// A program without updates (inference, an optimizer we do not know): the launch sequence is
// searched for a period that its end repeats, that covers at least half of what was launched and
// that holds nine tenths of the distinct launches that occurred twice. At the end of the program
// two repetitions are enough; before, 24 and 4,096 launches, or the equal layers of one forward
// pass would do. Afterwards a boundary is wherever the period's first launches appear again: as
// many of them as it takes to tell its beginning from equal layers within it.
//
// When that fails, at the end of the program, the search is made again for loops whose every step
// meets the host (waits for the GPU, or copies from or to it), as evaluation and generation do and
// layers do not:
//   * with a few launches behind the last step (a twentieth of it, or 4): a sum over all, and its
//     print;
//   * then by the kinds of launches alone, three times in a row: the sequences that a generation
//     attends to grow, so that sizes repeat in no step.
// Together they are at least half of what was launched, whatever repeated before them (the weights
// of equal layers are made by equal launches); they are counted back from the end of the last one.
//
// Equal work of two GPUs is not the same. A process whose threads each drive a GPU launches in
// another order in every step: when nothing else was found, the searches are made for the launches
// of each GPU alone, in the order in which they were first used, until one repeats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/agent/iteration/ledger.h"

namespace eidolon::agent::iteration {

// Whether a kernel updates parameters: its name says so, or it is of a kind that optimizers use.
enum class Update : std::uint8_t { kNo, kPerhaps, kYes };
Update UpdateOf(std::string_view mangled_name);

// End of a program. One that failed may have been stopped before its first step: what repeats until
// then (the weights of equal layers are made by equal launches) may be of no step.
enum class ProgramEnd : std::uint8_t { kWell, kFailed };

// One launch as the detector sees it.
struct Launch {
  std::uint32_t identity = 0;  // Equal work has equal identity.
  std::uint32_t alike = 0;     // The same whatever its parameters but grid and block.
  std::uint32_t kind = 0;      // The same whatever its sizes.
  std::uint32_t device = 0;    // Of the process.
  bool meets_host = false;  // A copy between host and GPU, or the host has waited right before it.
  Update update = Update::kNo;
  Mark mark;  // Before the launch.
};

// One rank. Not thread safe.
class Detector {
 public:
  void Feed(const Launch& fed);
  // The host waits for the GPU.
  void NoteWait() { waited_ = true; }
  // The program ended. Mark: behind everything. Loops without updates are searched for only in a
  // program that ended well.
  void Finish(const Mark& mark, ProgramEnd how);

  // Boundaries found since the last call, in program order: each ends an iteration.
  std::vector<Mark> TakeBoundaries();
  bool has_boundaries() const { return !boundaries_.empty(); }

 private:
  struct Gap {
    std::uint32_t update = 0;  // Identity of the update before it.
    std::uint32_t alike = 0;   // And what it is alike to.
    std::uint64_t launches = 0;
    Mark mark;  // Behind that update.
  };

  bool IsUpdate(const Launch& launch);
  void CountFresh(std::uint32_t identity);
  void CloseGap();
  void Confirm(bool at_end);
  struct Cycle {
    std::size_t period = 0;  // 0: none.
    std::size_t begin = 0;   // The first gap that is part of the repetition.
  };
  static Cycle FindCycle(std::span<const Gap> gaps, std::uint32_t Gap::*key);
  Cycle FindCycle(bool at_end) const;
  void EmitGap(const Gap& gap);
  bool IsLong(std::uint64_t launches) const;
  void RememberForRepetition(const Launch& launch);
  struct Patience {
    std::size_t repeats_min;
    std::size_t run_min;
  };
  void SearchRepetition(const Patience& patience);
  struct PeriodSearch {
    std::size_t tail = 0;  // Launches behind the last one.
    bool by_kind = false;
  };
  bool SearchPeriods(const PeriodSearch& search, const Mark& end);
  bool SearchPeriodsAtEnd(const Mark& end);
  bool SearchAtEnd(const Mark& end);
  void SearchDevicesAtEnd(const Mark& end);
  void FollowRepetition(const Launch& launch);

  // Updates.
  Update seen_update_ = Update::kNo;
  std::uint64_t fresh_launches_ = 0;
  std::array<std::uint32_t, 4> latest_{};  // Identities of the last launches, a ring.
  std::size_t next_latest_ = 0;
  bool in_gap_ = false;
  bool confirmed_ = false;
  bool gap_emitted_ = false;  // The open gap's boundary is out already.
  bool update_since_boundary_ = false;
  std::uint64_t before_first_update_ = 0;
  std::uint64_t longest_ = 0;  // Longest closed gap; fixed once confirmed.
  Gap open_;
  Mark behind_update_;        // The last one.
  std::vector<Gap> gaps_;     // Closed, until confirmed.
  std::uint32_t period_ = 1;  // Long gaps an iteration.
  std::uint64_t emitted_gaps_ = 0;
  // Repetition, while no update was seen.
  std::vector<Launch> history_;
  std::size_t next_search_ = 64;
  std::size_t repetition_ = 0;   // Length of the period, 0: none found.
  std::vector<Launch> opening_;  // First launches of the period.
  std::vector<Launch> recent_;
  std::uint64_t since_boundary_ = 0;
  bool waited_ = false;  // Since the last launch.
  Mark last_launch_;

  std::vector<Mark> boundaries_;
};

}  // namespace eidolon::agent::iteration
