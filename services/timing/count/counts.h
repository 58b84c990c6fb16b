// Counts of what a launch of a kernel executes, found by running some of its blocks: the input of
// the bounds in bounds.h. Numbers are doubles: means over blocks that go into formulas, never
// times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace eidolon::timing::count {

// Pipe on which a multiprocessor executes an instruction.
enum class Pipe : std::uint8_t {
  kFma,             // Single precision.
  kHalf,            // Pairs of half precision.
  kDouble,          // Double precision.
  kAlu,             // Integers, logic, comparisons.
  kTranscendental,  // Square roots, exponentials, conversions, counting bits.
  kShuffle,         // Between the lanes of a warp.
  kMemory,          // Loads, stores, atomics of any memory.
  kUniform,         // The uniform datapath.
  kControl,         // Branches, barriers, waiting.
  kTensor,          // Matrix instructions.
  kOther,           // Not known.
  kMultiply,        // Multiplications of integers, by a part of what single precision has.
  kWideMultiply,    // Of these, those whose result has 64 bits.
};
inline constexpr std::size_t kPipes = 13;
std::string_view Name(Pipe pipe);

// Types of the operands, as GPU model files name their rates.
enum class MatrixType : std::uint8_t { kBf16, kTf32, kFp8, kInt8, kFp64, kFp4 };
inline constexpr std::size_t kMatrixTypes = 6;
std::string_view Name(MatrixType type);

// Counts of one block, a mean of those that were run.
struct BlockCounts {
  std::array<double, kPipes> issued{};  // Instructions of warps.
  // Multiplications and additions of matrix instructions.
  std::array<double, kMatrixTypes> matrix_operations{};
  // Part of these by groups of four warps (WGMMA) or on tensor memory (tcgen05).
  double group_matrix_operations = 0;
  // Multiplications and additions of floating-point numbers by lanes, outside matrix instructions.
  double lane_operations = 0;
  double matrix_warps = 0;       // Of the block's warps, those that issue any.
  double shared_wavefronts = 0;  // Clocks of the banks of shared memory.
  double line_requests = 0;      // Lines of 128 bytes that warps ask the first-level cache for.
  double missed_lines = 0;       // Of those, what goes on to L2, stores and atomics among them.
  double missed_sectors = 0;     // Pieces of 32 bytes of these.
  double again_sectors = 0;      // Of these, read before by the same block,
  double again_distance = 0;     // and the missed sectors between, of all of them together.
  double first_sectors = 0;      // That its warps ask for before they first wait for any.
  double engine_bytes = 0;       // That the copy engine (TMA) brings.
  double atomics = 0;            // Lanes.
  double colliding_atomics = 0;  // Of these in device memory, lanes that meet another's word.
  double atomic_rounds = 0;      // Lanes of the busiest word of each request and line of 128 bytes.
  double barriers = 0;           // Of warps.
  double code_lines = 0;         // Of 128 bytes, that its longest warp executes, each once.
  // Clocks of its longest warp, alone on a multiprocessor, by the compiler's own schedule.
  double clocks = 0;
  double far_clocks = 0;  // Of these, waiting for memory outside the multiprocessor.

  double instructions() const {
    double sum = 0;
    for (const double count : issued) sum += count;
    return sum;
  }
};

// Work that grows evenly along a side of the grid.
struct Growth {
  double first = 1;   // Work of the block where the side begins, of the mean's,
  double last = 1;    // and where it ends.
  double steps = 1;   // Blocks of the side. 1: all are alike.
  double period = 1;  // Blocks in a row that lie at the same place of it.
};

struct Counts {
  BlockCounts block;
  double blocks = 0;           // Of the grid.
  double warps = 0;            // Of a block.
  double resident_blocks = 0;  // On a multiprocessor at once, as far as the grid has them.
  // Bytes of device memory, each once: by the whole launch, and by the blocks that run at once.
  double bytes_read = 0;
  double bytes_written = 0;
  double bytes_at_once = 0;
  double atomic_bytes_at_once = 0;  // Of these by atomics; 0 where memory says which.
  double bytes_in_order = 0;        // By the whole launch, where only neighbouring blocks share.
  // Clocks of the block that takes the longest by itself, as BlockCounts has the mean's.
  double longest_clocks = 0;
  double longest_far_clocks = 0;
  Growth growth;
  double code_lines = 0;  // That any of the blocks executes, each once.
  double sampled_blocks = 0;
  double passed_over = 0;          // Share of instructions that were counted, not run.
  bool depends_on_memory = false;  // Other content of memory led to other counts.
};

// Multiplications and additions of the whole launch's matrix instructions.
inline double MatrixOperations(const Counts& counts) {
  double sum = 0;
  for (const double operations : counts.block.matrix_operations) sum += operations;
  return sum * counts.blocks;
}

}  // namespace eidolon::timing::count
