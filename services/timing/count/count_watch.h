// Counting what a block executes while the interpreter runs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/warp.h"
#include "services/timing/count/accesses.h"
#include "services/timing/count/counts.h"
#include "services/timing/count/pipes.h"

namespace eidolon::timing::count {

// A copy of a program whose handlers take note. Of one thread, which has one at a time; the program
// outlives it. Blocks run one after another.
//
// Dependence is the compiler's own: each instruction says for how many clocks the next one waits,
// and which scoreboards it waits for and holds. So the clocks of a warp that is alone are counted
// without looking at registers.
class CountWatch {
 public:
  // `shared_bytes_of_block`: what the copy engine can bring before any of it is needed no more.
  CountWatch(const interpret::Program& program, double cached_bytes_of_block,
             double shared_bytes_of_block);
  ~CountWatch();
  CountWatch(const CountWatch&) = delete;
  CountWatch& operator=(const CountWatch&) = delete;

  // To be run instead of the program; runs alike, but for the results of matrix instructions.
  const interpret::Program& program() const { return watched_; }
  // Begins as Accesses::Begin().
  void BeginBlock(std::map<RegionUse, RegionTouched>* regions, SectorSet* together);
  // Returns the counts of the block that ran since.
  BlockCounts EndBlock();
  // Share of the instructions of all blocks that were passed over.
  double PassedOver() const;
  // Lines of code that any of them executed, each once.
  double CodeLines() const;

 private:
  static constexpr unsigned kScoreboards = 6;
  struct WarpClock {
    double now = 0;
    double far = 0;            // Of which it waited for memory outside the multiprocessor.
    double first_sectors = 0;  // That it asked for before it first waited for any.
    std::array<double, kScoreboards> free_at{};
    std::array<bool, kScoreboards> is_far{};
    std::vector<bool> has_line;  // Of code, that it has executed.
    std::size_t line = ~std::size_t{0};
    double code_lines = 0;
    double matrices_end = 0;           // Of matrix instructions that run beside the warp.
    std::deque<double> matrix_groups;  // When groups of them end, the oldest first.
    bool has_matrices = false;         // It has issued some.
    double copies_end = 0;             // Of asynchronous copies that are not in a group yet.
    std::deque<double> groups;         // When groups of copies end, the oldest first.
    std::uint32_t waits_at = ~0u;      // Barrier of the block that it has come to.
    std::array<std::uint32_t, interpret::kBarriers> arrivals{};
  };
  // What is the same each time a step runs.
  struct Fixed {
    Pipe pipe = Pipe::kOther;
    bool accesses = false;
    bool passed_over = false;
    std::optional<unsigned> matrix_descriptor;  // The uniform register that holds it.
    bool ends_matrix_group = false;
    std::optional<unsigned> matrix_groups_left;
    bool announces_bytes = false;
    double matrix_operations = 0;
    double lane_operations = 0;
    MatrixType matrix_type{};
    std::uint8_t stall = 1;
    std::uint8_t sets = 7;   // Scoreboard that the result frees; 7: none.
    std::uint8_t reads = 7;  // That reading its operands frees.
    std::uint8_t waits = 0;  // A bit for each.
  };

  static void Note(interpret::Warp& warp, const interpret::Step& step, std::uint32_t mask);
  void Issue(interpret::Warp& warp, std::size_t number, std::uint32_t lanes);
  // Bytes that the copy engine brings for a warp's lanes.
  void CountEngineCopy(interpret::Warp& warp, WarpClock& clock, const interpret::Step& step,
                       std::uint32_t lanes);
  void CountMatrices(interpret::Warp& warp, WarpClock& clock, const Fixed& fixed,
                     const interpret::Step& step);
  void Arrive(WarpClock& clock, std::uint32_t barrier, bool waits);
  void ExecuteLine(WarpClock& clock, std::size_t step);
  void Await(WarpClock& clock, double until, bool far);
  void Schedule(WarpClock& clock, const Fixed& fixed, const interpret::Step& step, double latency);

  const interpret::Program& program_;
  const double shared_bytes_;
  interpret::Program watched_;
  std::vector<Fixed> fixed_;  // By step.
  Accesses accesses_;
  BlockCounts counts_;
  std::vector<WarpClock> clocks_;  // By warp of the block.
  // Times at which the last warp has come to a barrier, the first time, the second time and so on.
  std::array<std::vector<double>, interpret::kBarriers> barriers_;
  double instructions_ = 0;     // Of all blocks.
  std::vector<bool> has_line_;  // Of code, that any block has executed.
  double passed_over_ = 0;
};

}  // namespace eidolon::timing::count
