#include "services/timing/count/bounds.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "services/timing/count/count_samples_test.h"
#include "services/timing/count/overlap.h"

namespace eidolon::timing::count {
namespace {

double Micros(const Counts& counts, const gpu_model::GpuModel& gpu = H100()) {
  return TimeOf(counts, gpu).seconds * 1e6;
}

double& Issued(Counts& counts, Pipe pipe) {
  return counts.block.issued[static_cast<std::size_t>(pipe)];
}

const gpu_model::GpuModel& H200() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H200-SXM-141GB");
}

TEST(OverlapTest, PowersLeaveTheLongestAndAddWhatIsNearlyAsLong) {
  EXPECT_EQ(Overlapped(4, {}), 0);
  EXPECT_DOUBLE_EQ(Overlapped(4, std::array{0.0, 2e-6, 0.0}), 2e-6);
  EXPECT_DOUBLE_EQ(Overlapped(4, std::array{1e-6, 1e-6}), std::pow(2, 0.25) * 1e-6);
  EXPECT_DOUBLE_EQ(Overlapped(3, std::array{3.0, 4.0, 5.0}), 6);
}

TEST(OverlapTest, NobodyWaitsForStoresButTheyTakeTheirShare) {
  EXPECT_DOUBLE_EQ(QueueSecondsBesideStores(3, 2, 5, 0), QueueSeconds(3, 2, 5));
  EXPECT_DOUBLE_EQ(QueueSeconds(1, 2, 5), 7);
  // One customer: t = alone + loads / (1 - stores / t), so that t^2 - 453 t + 97 x 178 = 0.
  EXPECT_NEAR(QueueSecondsBesideStores(1, 97, 356, 178),
              (453 + std::sqrt(453.0 * 453 - 4 * 97 * 178)) / 2, 1e-6);
  // Stores alone go on while the customer waits.
  EXPECT_NEAR(QueueSecondsBesideStores(1, 97, 356, 356), 356, 1e-3);
  EXPECT_NEAR(QueueSecondsBesideStores(1, 500, 356, 356), 500, 1e-3);
}

TEST(BoundsTest, GroupsOfWarpsOverlapWhereOthersBringTheirData) {
  Counts counts;
  counts.blocks = 1056;
  counts.warps = 12;
  counts.resident_blocks = 1;
  counts.block.matrix_operations[static_cast<std::size_t>(MatrixType::kBf16)] = 148e6;
  counts.block.group_matrix_operations = 148e6;
  Issued(counts, Pipe::kTranscendental) = 9000;
  counts.block.matrix_warps = 12;
  const double alike = Micros(counts);
  counts.block.matrix_warps = 8;
  EXPECT_LT(Micros(counts), 0.85 * alike);
  // One warp for all, into tensor memory.
  counts.block.matrix_warps = 1;
  EXPECT_LT(Micros(counts), 0.85 * alike);
}

TEST(OverlapTest, CustomersOfTwoServersWaitAtEach) {
  EXPECT_DOUBLE_EQ(QueueSeconds(1, 2, std::array{5.0, 3.0}), 10);
  EXPECT_DOUBLE_EQ(QueueSeconds(3, 2, std::array{5.0, 0.0}), QueueSeconds(3, 2, 5));
  // Two customers, two servers that are alike: each finds half of the other one there.
  EXPECT_DOUBLE_EQ(QueueSeconds(2, 0, std::array{4.0, 4.0}), 6);
}

// Times below: e2e/measured/h100/operators.csv and e2e/measured/h200/operators.csv, counts from the
// code of the same kernels.

TEST(BoundsTest, StridedKernelsWaitForEachOfTheirElementsAndForTheNextBlock) {
  // "wan mul bf16 of a row": 125.4 us, a gap of 1.0 us between launches among them. Each thread
  // loads four elements, one after the other.
  Counts counts;
  Issued(counts, Pipe::kFma) = 16;
  Issued(counts, Pipe::kHalf) = 32;
  Issued(counts, Pipe::kAlu) = 348;
  Issued(counts, Pipe::kMemory) = 68;
  Issued(counts, Pipe::kUniform) = 184;
  Issued(counts, Pipe::kControl) = 84;
  Issued(counts, Pipe::kMultiply) = 128;
  Issued(counts, Pipe::kWideMultiply) = 32;
  counts.block.line_requests = counts.block.missed_lines = 48;
  counts.block.missed_sectors = 96;
  counts.block.clocks = counts.longest_clocks = 2595;
  counts.block.far_clocks = counts.longest_far_clocks = 1878;
  counts.blocks = 96768;
  counts.warps = 4;
  counts.resident_blocks = 16;
  counts.bytes_read = 99.09e6;
  counts.bytes_written = 99.09e6;
  counts.bytes_at_once = 4.33e6;
  counts.bytes_in_order = 198.7e6;

  EXPECT_NEAR(Micros(counts) / 124.4, 1, 0.1);
}

TEST(BoundsTest, StoresOfTheOnlyBlockGoOnWhileTheNextOneLoads) {
  // Softmax of 4096 rows of 32768 numbers of single precision: 363.7 us.
  Counts counts;
  Issued(counts, Pipe::kFma) = 8352;
  Issued(counts, Pipe::kAlu) = 4416;
  Issued(counts, Pipe::kTranscendental) = 1040;
  counts.block.line_requests = counts.block.missed_lines = 2048;
  counts.block.missed_sectors = 8192;
  counts.block.barriers = 80;
  counts.block.clocks = counts.longest_clocks = 5115;
  counts.block.far_clocks = counts.longest_far_clocks = 440;
  counts.blocks = 4096;
  counts.warps = 16;
  counts.resident_blocks = 1;
  counts.bytes_read = counts.bytes_written = 536.9e6;
  counts.bytes_in_order = 1073.7e6;
  counts.bytes_at_once = 34.6e6;
  const double micros = Micros(counts);

  EXPECT_NEAR(micros / 362.7, 1, 0.15);
  // This assumes that the block waited for all that it moves, as for loads:
  counts.bytes_read += counts.bytes_written;
  counts.bytes_written = 0;
  EXPECT_GT(Micros(counts), 1.08 * micros);
}

// The largest of 8192 x 8192 numbers of 16 bits: 53.4 us on H100. Sixteen loads of a warp follow
// each other without a barrier.
Counts Largest() {
  Counts counts;
  Issued(counts, Pipe::kAlu) = 26466;
  Issued(counts, Pipe::kMultiply) = 8320;
  counts.block.line_requests = counts.block.missed_lines = 2049;
  counts.block.missed_sectors = 8193;
  counts.block.barriers = 32;
  counts.block.clocks = counts.longest_clocks = 35163;
  counts.block.far_clocks = counts.longest_far_clocks = 30336;
  counts.blocks = 512;
  counts.warps = 16;
  counts.resident_blocks = 4;
  counts.bytes_read = counts.bytes_at_once = counts.bytes_in_order = 134.2e6;
  return counts;
}

TEST(BoundsTest, WarpsGoAtTheirOwnPaceBetweenBarriers) {
  Counts counts = Largest();
  const double micros = Micros(counts);
  counts.block.barriers = 64 * counts.warps;  // At each load: all warps wait together.

  EXPECT_NEAR(micros / 51, 1, 0.08);
  EXPECT_GT(Micros(counts), 1.1 * micros);
}

TEST(BoundsTest, TheLastGenerationLastsAsLongAsItsLongestBlock) {
  Counts counts = Largest();
  const double micros = Micros(counts);
  counts.longest_clocks *= 3;

  // One generation: all blocks start together.
  EXPECT_GT(Micros(counts), 2 * counts.block.clocks / 1.98e3);
  EXPECT_GT(Micros(counts), 1.3 * micros);
}

TEST(BoundsTest, L2LooksUpLinesByItsSlices) {
  // Transposing copies of 32 MB: 61.2 us on H100, 51.2 on H200, whose L2 has 96 slices for 80
  // (transpose_copy, kernels.jsonl.gz).
  Counts counts;
  counts.block.line_requests = counts.block.missed_lines = 528;
  counts.block.missed_sectors = 544;
  counts.block.clocks = counts.longest_clocks = 2781;
  counts.block.far_clocks = counts.longest_far_clocks = 2124;
  counts.blocks = 16384;
  counts.warps = 4;
  counts.resident_blocks = 16;
  counts.bytes_read = counts.bytes_written = 16.8e6;

  EXPECT_NEAR(Micros(counts, H100()) / 61.2, 1, 0.14);
  EXPECT_NEAR(Micros(counts, H200()) / 51.2, 1, 0.14);
}

// FlashAttention 2's forward pass of 128 queries a block, four warps, two blocks a multiprocessor.
Counts Attention(double clocks, double matrix_operations, double bytes_read, double bytes_written) {
  Counts counts;
  counts.warps = 4;
  counts.resident_blocks = 2;
  counts.block.clocks = counts.longest_clocks = clocks;
  counts.block.far_clocks = counts.longest_far_clocks = 472;
  counts.block.matrix_operations[static_cast<std::size_t>(MatrixType::kBf16)] = matrix_operations;
  counts.bytes_read = bytes_read;
  counts.bytes_written = bytes_written;
  return counts;
}

// Times below: e2e/measured/h100/attention.jsonl.gz, with a warm cache.

TEST(BoundsTest, AttentionWaitsWhereItsBlocksBeginTogether) {
  // 32 x 16 heads of 512 queries of 64 numbers: 133.0 us.
  Counts counts = Attention(16'677, 16.78e6, 100.7e6, 34.6e6);
  Issued(counts, Pipe::kFma) = 11'648;
  Issued(counts, Pipe::kAlu) = 7416;
  Issued(counts, Pipe::kTranscendental) = 2140;
  Issued(counts, Pipe::kMemory) = 2316;
  Issued(counts, Pipe::kTensor) = 4096;
  Issued(counts, Pipe::kMultiply) = 568;
  counts.block.shared_wavefronts = 6016;
  counts.block.missed_lines = 1296;
  counts.block.missed_sectors = 5136;
  counts.block.first_sectors = 1024;
  counts.blocks = 2048;
  counts.bytes_at_once = 21.4e6;
  counts.bytes_in_order = 135.8e6;
  EXPECT_NEAR(Micros(counts) / 133.0, 1, 0.1);
  // Without those waits it would take a tenth less.
  counts.block.first_sectors = counts.bytes_written = 0;
  counts.block.far_clocks = 0;
  EXPECT_LT(Micros(counts) / 133.0, 0.95);
}

TEST(BoundsTest, CausalAttentionEndsWithItsLongestBlocks) {
  // 32 x 32 heads of 512 queries of 128 numbers: 350.3 us.
  Counts counts = Attention(19'189, 20.97e6, 402.7e6, 136.3e6);
  Issued(counts, Pipe::kFma) = 9424;
  Issued(counts, Pipe::kAlu) = 8920;
  Issued(counts, Pipe::kTranscendental) = 1388;
  Issued(counts, Pipe::kMemory) = 3197;
  Issued(counts, Pipe::kTensor) = 5120;
  Issued(counts, Pipe::kMultiply) = 1024;
  counts.longest_clocks = 28'021;
  counts.block.shared_wavefronts = 8448;
  counts.block.missed_lines = 1808;
  counts.block.missed_sectors = 7184;
  counts.block.first_sectors = 1536;
  counts.blocks = 4096;
  counts.bytes_at_once = 42.6e6;
  counts.bytes_in_order = 941.6e6;
  counts.growth = {.first = 0.513, .last = 1.487, .steps = 4};
  const double causal = Micros(counts);
  EXPECT_NEAR(causal / 350.3, 1, 0.1);
  counts.growth = {};
  EXPECT_LT(Micros(counts), causal);
}

TEST(BoundsTest, TheFirstBlocksWaitForTheirInstructions) {
  // 32 lines are those of a usual kernel.
  Counts counts = Attention(10'155, 8.39e6, 0.3e6, 0.15e6);
  counts.blocks = 1;
  counts.block.code_lines = counts.code_lines = 32;
  const double few = Micros(counts);
  counts.block.code_lines = counts.code_lines = 532;
  EXPECT_NEAR(Micros(counts) - few, 500 * 8 / 1980.0, 1e-3);
}

TEST(BoundsTest, BlocksBringInstructionsAgainThatTheCacheDoesNotHold) {
  Counts counts = Attention(11'247, 10.49e6, 100.7e6, 34.6e6);
  counts.blocks = 2048;
  counts.block.code_lines = 461;
  counts.code_lines = 512;
  const double held = Micros(counts);
  counts.code_lines = 513;
  const double lost = Micros(counts);
  // All of them would take longer by as much; a part is hidden by the block beside it.
  const double all = 461 * 8 * 16 / 1980.0;
  EXPECT_GT(lost - held, 0.2 * all);
  EXPECT_LT(lost - held, 0.9 * all);
  // The only generation has them once anyway.
  counts.blocks = 264;
  const double once = Micros(counts);
  counts.code_lines = 512;
  EXPECT_EQ(Micros(counts), once);
}

}  // namespace
}  // namespace eidolon::timing::count
