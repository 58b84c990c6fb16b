#include "services/timing/count/count.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "services/machine_code/cubin/cubin.h"
#include "services/timing/count/bounds.h"
#include "services/timing/count/count_samples_test.h"
#include "services/timing/count/explain.h"
#include "services/timing/count/launch_memory.h"
#include "services/timing/count/sector_set.h"

namespace eidolon::timing::count {
namespace {

double Issued(const Counts& counts, Pipe pipe) {
  return counts.block.issued[static_cast<std::size_t>(pipe)];
}

TEST(CountTest, CountsAnElementwiseKernelToTheByte) {
  constexpr std::uint32_t kElements = 1 << 26;
  const auto code = ReadKernelCode(SampleCode(), "scale");
  ASSERT_TRUE(code.has_value()) << code.error().message;
  EXPECT_EQ(code->passed_over, 0u);

  const auto counts = CountLaunch(*code, Scale(kElements), H100(), {});

  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(counts->blocks, kElements / 256);
  EXPECT_EQ(counts->warps, 8);
  EXPECT_EQ(counts->bytes_read, 4.0 * kElements);
  EXPECT_EQ(counts->bytes_written, 4.0 * kElements);
  EXPECT_EQ(counts->bytes_in_order, 8.0 * kElements);
  // Eight warps load and store a line each.
  EXPECT_EQ(counts->block.missed_lines, 16);
  EXPECT_EQ(counts->block.missed_sectors, 64);
  EXPECT_GE(Issued(*counts, Pipe::kFma), 8);       // The multiplication.
  EXPECT_GE(Issued(*counts, Pipe::kMultiply), 8);  // That of the index.
  EXPECT_EQ(counts->block.lane_operations, 256);   // One multiplication an element.
  EXPECT_EQ(counts->block.shared_wavefronts, 0);
  EXPECT_GT(counts->block.far_clocks, 400);
  EXPECT_LT(counts->block.far_clocks, counts->block.clocks);
  EXPECT_FALSE(counts->depends_on_memory);
  // 128 bytes each; all blocks execute the same.
  const double lines = std::ceil(counts->block.instructions() / counts->warps / 8);
  EXPECT_GE(counts->block.code_lines, lines);
  EXPECT_LE(counts->block.code_lines, lines + 1);
  EXPECT_EQ(counts->code_lines, counts->block.code_lines);

  const CountedTime time = TimeOf(*counts, H100());
  // 512 MiB at 3.0 TB/s; 249 generations of blocks that load once and start 0.28 us after those
  // before them take as long.
  EXPECT_EQ(time.bounds.front().name, "latency");
  EXPECT_EQ(time.bounds[1].name, "DRAM");
  EXPECT_NEAR(time.bounds[1].seconds, 178e-6, 1e-6);
  EXPECT_GT(time.seconds, 178e-6);
  EXPECT_LT(time.seconds, 240e-6);
}

TEST(CountTest, CountsTheSameOnEveryDialect) {
  for (const cubin::Capability device : {cubin::Capability{8, 0}, {9, 0}, {10, 0}}) {
    const auto code = ReadKernelCode(SampleCode(device), "scale");
    ASSERT_TRUE(code.has_value()) << code.error().message;
    const auto counts = CountLaunch(*code, Scale(1 << 20), H100(), {});
    ASSERT_TRUE(counts.has_value()) << counts.error().message;
    EXPECT_EQ(counts->bytes_read, 4 << 20) << device.number();
    EXPECT_EQ(counts->block.missed_sectors, 64) << device.number();
  }
}

TEST(CountTest, ASmallLaunchLastsAsLongAsTheShortestKernel) {
  const auto code = ReadKernelCode(SampleCode(), "scale");
  const auto counts = CountLaunch(*code, Scale(32), H100(), {});
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(counts->bytes_read, 128);
  const double seconds = TimeOf(*counts, H100()).seconds;
  EXPECT_GE(seconds, H100().empty_kernel.Seconds());
  EXPECT_LE(seconds, H100().kernel_floor.Seconds());
}

// Blocks of eight warps that wait for 2000 clocks and move as much as device memory brings to a
// multiprocessor in the same time.
Counts Waiting(double blocks_each, double resident) {
  const double clocks = 2000, seconds = clocks / static_cast<double>(H100().boost_clock_hz);
  Counts counts;
  counts.blocks = blocks_each * H100().multiprocessors;
  counts.warps = 8;
  counts.resident_blocks = resident;
  counts.block.clocks = clocks * resident;
  counts.bytes_read = blocks_each * seconds * H100().attained_memory_share *
                      static_cast<double>(H100().memory_bytes_per_second);
  counts.bytes_at_once = counts.bytes_in_order = counts.bytes_read;
  return counts;
}

TEST(CountTest, ABlockAloneWaitsAndMovesByTurnsWhereManyHideTheirWaiting) {
  const double moving = 1000 * 2000.0 / static_cast<double>(H100().boost_clock_hz);

  const double alone = TimeOf(Waiting(1000, 1), H100()).seconds;
  const double two = TimeOf(Waiting(1000, 2), H100()).seconds;
  const double many = TimeOf(Waiting(1000, 16), H100()).seconds;

  // A round trip of two blocks, each waiting 4000 clocks, 554 more until it runs and served in
  // 2000: one meets the other at the server 2000 / 6554 of the time, so that 1000 blocks take 500 x
  // (4554 + 2000 x 8554 / 6554) clocks.
  EXPECT_NEAR(alone / moving, (2000 + 554 + 2000) / 2000.0, 0.01);
  EXPECT_NEAR(two / moving, 500 * (4554 + 2000 * 8554.0 / 6554) / 2e6, 0.01);
  EXPECT_LT(many, two);
  EXPECT_NEAR(many / moving, 1.2, 0.1);
}

TEST(CountTest, RowsThatL2DoesNotHoldComeFromDeviceMemoryAgain) {
  // A loss of 4096 rows of 128256 numbers of 16 bits, four blocks on a multiprocessor: each reads
  // its row, reads it again and writes it. It lasts 1.075 ms on H100
  // (e2e/measured/h100/operators.csv).
  constexpr double kRows = 4096, kRowSectors = 128'256 * 2 / 32;
  Counts counts;
  counts.blocks = kRows;
  counts.warps = 16;
  counts.resident_blocks = 4;
  counts.block.missed_sectors = 3 * kRowSectors;
  counts.block.again_sectors = kRowSectors;
  counts.block.again_distance = kRowSectors * 1.5 * kRowSectors;
  counts.bytes_read = counts.bytes_written = kRows * kRowSectors * 32;
  counts.bytes_at_once = 2 * 4 * 132 * kRowSectors * 32;
  counts.bytes_in_order = counts.bytes_read + counts.bytes_written;

  EXPECT_NEAR(TimeOf(counts, H100()).seconds, 1.075e-3, 0.05e-3);
  counts.resident_blocks = 1;  // 51 MB between the two times, which L2 holds.
  EXPECT_NEAR(TimeOf(counts, H100()).seconds, 0.7e-3, 0.05e-3);
}

TEST(CountTest, BlocksStartOneAfterTheOther) {
  Counts counts;
  counts.blocks = 1 << 20;
  counts.warps = 1;
  counts.resident_blocks = 32;
  counts.block.issued[static_cast<std::size_t>(Pipe::kAlu)] = 100;

  const CountedTime time = TimeOf(counts, H100());

  // The same number of blocks of a warp of kQuantizeBlockwiseSmall lasted 632 us:
  // e2e/measured/h100.
  EXPECT_EQ(time.bounds.front().name, "starts of blocks");
  EXPECT_NEAR(time.seconds, 632e-6, 6e-6);
}

TEST(CountTest, IntegersAreMultipliedByHalfOfTheLanesAndWideResultsTakeTwoTurns) {
  const auto seconds = [](std::initializer_list<Pipe> pipes) {
    Counts counts;
    counts.blocks = 10.0 * H100().multiprocessors;
    counts.warps = 4;
    counts.resident_blocks = 1;
    for (const Pipe pipe : pipes) counts.block.issued[static_cast<std::size_t>(pipe)] = 1e6;
    return TimeOf(counts, H100()).seconds;
  };
  const double single = seconds({Pipe::kFma});

  EXPECT_NEAR(seconds({Pipe::kMultiply}) / single, 2, 0.01);
  EXPECT_NEAR(seconds({Pipe::kWideMultiply}) / single, 4, 0.01);
  EXPECT_NEAR(seconds({Pipe::kFma, Pipe::kMultiply}) / single, 2, 0.01);  // Beside each other.
}

TEST(CountTest, LanesThatMeetInAWordFollowEachOtherInL2) {
  const auto code = ReadKernelCode(SampleCode(), "scale");
  auto counts = CountLaunch(*code, Scale(1 << 26), H100(), {});
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(counts->block.colliding_atomics, 0);

  counts->block.colliding_atomics = 256 - 8;  // All but one of each warp.

  const CountedTime time = TimeOf(*counts, H100());
  EXPECT_EQ(time.bounds.front().name, "colliding atomics");
  EXPECT_NEAR(time.seconds, 5.0e-3, 0.3e-3);

  // The words are known: all in one line, and each the word of a warp.
  counts->block.atomic_rounds = 256;
  counts->atomic_bytes_at_once = 128;
  EXPECT_NEAR(TimeOf(*counts, H100()).seconds, 67.1e6 * 1.11e-9, 1e-3);
}

TEST(CountTest, CountsBarriersAndSharedMemory) {
  const auto code = ReadKernelCode(SampleCode(), "tile");
  ASSERT_TRUE(code.has_value()) << code.error().message;
  kernel::KernelLaunch launch;
  launch.name = "tile";
  launch.grid = {8, 1, 1};
  launch.block = {64, 1, 1};
  launch.static_shared_bytes = 4096;
  launch.parameters.resize(56);
  std::memcpy(launch.parameters.data() + 16, &workload::kPointerTag, 8);
  std::memcpy(launch.parameters.data() + 48, &workload::kPointerTag, 8);

  const auto counts = CountLaunch(*code, launch, H100(), {});

  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(counts->block.barriers, 2);
  // A store and a load of each warp, of one word a lane without conflicts.
  EXPECT_EQ(counts->block.shared_wavefronts, 4);
  // Everybody writes the same two words.
  EXPECT_EQ(counts->bytes_written, 64);
}

TEST(CountTest, CountsMatrixInstructionsByTheirShape) {
  const auto bytes = TestFile("matrix.cubin");
  const auto parsed = cubin::ParseCubin(bytes);
  ASSERT_TRUE(parsed.has_value() && parsed->functions.size() == 1);
  kernel::KernelLaunch launch;
  launch.name = parsed->functions.front().name;
  const auto code = ReadKernelCode(bytes, launch.name);
  ASSERT_TRUE(code.has_value()) << code.error().message;
  launch.block = {32, 1, 1};
  launch.parameters.resize(24);
  for (const std::size_t at : {0, 8, 16}) {
    std::memcpy(launch.parameters.data() + at, &workload::kPointerTag, 8);
  }
  const auto counts = CountLaunch(*code, launch, H100(), {});
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  const double instructions = Issued(*counts, Pipe::kTensor);
  EXPECT_GT(instructions, 0);
  double operations = 0;
  for (const double count : counts->block.matrix_operations) operations += count;
  // 16 x 8 x 4 to 16 x 8 x 16.
  EXPECT_GE(operations, instructions * 1024);
  EXPECT_LE(operations, instructions * 4096);
}

TEST(CountTest, SaysWhenMemoryDecides) {
  // "scatter" stores where an index in memory says.
  const auto code = ReadKernelCode(TestFile("stores.cubin"), "scatter");
  ASSERT_TRUE(code.has_value()) << code.error().message;
  kernel::KernelLaunch launch;
  launch.name = "scatter";
  launch.grid = {64, 1, 1};
  launch.block = {32, 1, 1};
  launch.parameters.resize(16);
  for (const std::size_t at : {0, 8}) {
    std::memcpy(launch.parameters.data() + at, &workload::kPointerTag, 8);
  }
  const auto counts = CountLaunch(*code, launch, H100(), {});
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_GT(TimeOf(*counts, H100()).relative_error, 0.25);
}

// "grows": the block at place x reads `each` x (x + 1) rows of 128 bytes.
base::Result<Counts> CountGrowing(std::uint32_t blocks, std::uint32_t each) {
  const auto code = ReadKernelCode(TestFile("grows.cubin"), "grows");
  if (!code) return std::unexpected(code.error());
  kernel::KernelLaunch launch;
  launch.name = "grows";
  launch.grid = {blocks, 4, 1};
  launch.block = {32, 1, 1};
  launch.registers = 16;
  launch.parameters.resize(12);
  std::memcpy(launch.parameters.data(), &workload::kPointerTag, 8);
  std::memcpy(launch.parameters.data() + 8, &each, 4);
  return CountLaunch(*code, launch, H100(), {});
}

TEST(CountTest, BlocksThatGrowAlongASideCountAsItsMiddle) {
  const auto counts = CountGrowing(101, 20);
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  // 51 x 20 loads in the mean, and a store; the last block loads 101 x 20.
  EXPECT_NEAR(counts->block.missed_lines, 1021, 1);
  EXPECT_EQ(counts->growth.steps, 101);
  EXPECT_NEAR(counts->growth.last / counts->growth.first, 101, 10);
  EXPECT_NEAR(counts->longest_clocks / counts->block.clocks, 101.0 / 51, 0.02);
}

TEST(CountTest, BlocksThatAreTooLongFollowFromShorterOnes) {
  // Three million instructions in the last block, twice the limit.
  const auto counts = CountGrowing(1001, 500);
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_NEAR(counts->block.missed_lines / (501 * 500 + 1), 1, 0.01);
  EXPECT_LT(counts->sampled_blocks, 20);
}

TEST(CountTest, BlocksThatGrowAlongASideTakeTheBusiestMultiprocessorsTime) {
  Counts even;
  even.blocks = 4.0 * H100().multiprocessors;
  even.warps = 4;
  even.resident_blocks = 1;
  even.block.issued[static_cast<std::size_t>(Pipe::kAlu)] = 1e6;
  Counts uneven = even;
  uneven.growth = {.first = 0, .last = 2, .steps = 4};
  // Each row of four blocks has 0, 2/3, 4/3 and 2 to do, in this order: at the end 2 begins where
  // others are about to have nothing left.
  const double ratio = TimeOf(uneven, H100()).seconds / TimeOf(even, H100()).seconds;
  EXPECT_GT(ratio, 1.1);
  EXPECT_LT(ratio, 1.5);
}

TEST(CountTest, RefusesBlocksThatAreTooLong) {
  const auto code = ReadKernelCode(SampleCode(), "scale");
  const auto counts = CountLaunch(*code, Scale(1 << 20), H100(), {.warp_steps = 10});
  ASSERT_FALSE(counts.has_value());
  EXPECT_EQ(counts.error().code, base::ErrorCode::kUnsupported);
  EXPECT_NE(counts.error().message.find("too long"), std::string::npos) << counts.error().message;
}

TEST(CountTest, NamesAKernelThatIsNotThere) {
  const auto code = ReadKernelCode(SampleCode(), "nobody");
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, base::ErrorCode::kNotFound);
  EXPECT_FALSE(ReadKernelCode({}, "scale").has_value());
}

TEST(CountTest, PointersLeadToRegionsOfTheirOwnAsAlignedAsTheyWere) {
  std::string block(24, '\0');
  const std::uint64_t first = workload::kPointerTag | 0x40;
  const std::uint64_t second = workload::kPointerTag | 0x2;
  std::memcpy(block.data(), &first, 8);
  std::memcpy(block.data() + 16, &second, 8);
  const std::string addressed = WithAddresses(block);
  std::uint64_t a, number, b;
  std::memcpy(&a, addressed.data(), 8);
  std::memcpy(&number, addressed.data() + 8, 8);
  std::memcpy(&b, addressed.data() + 16, 8);
  EXPECT_EQ(a & 0xff, 0x40u);
  EXPECT_EQ(b & 0xff, 0x2u);
  EXPECT_EQ(number, 0u);
  EXPECT_EQ(RegionOf(a), 1u);
  EXPECT_EQ(RegionOf(b), 2u);
}

TEST(SectorSetTest, HoldsEachNumberOnceUntilItIsCleared) {
  SectorSet set;
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(set.Add(i * 64));
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_FALSE(set.Add(i * 64));
  EXPECT_EQ(set.size(), 5000u);
  set.Clear();
  EXPECT_EQ(set.size(), 0u);
  EXPECT_TRUE(set.Add(64));
}

TEST(SectorSetTest, KeepsTheLastStampOfANumber) {
  SectorSet set;
  EXPECT_EQ(set.Stamp(64, 5), std::nullopt);
  EXPECT_EQ(set.Stamp(64, 9), 5u);
  EXPECT_EQ(set.Stamp(64, 9), 9u);
  EXPECT_EQ(set.size(), 1u);
  set.Clear();
  EXPECT_EQ(set.Stamp(64, 1), std::nullopt);
}

TEST(ExplainTest, NamesTheFirstBoundAndDrawsTheKernel) {
  const auto code = ReadKernelCode(SampleCode(), "scale");
  const kernel::KernelLaunch launch = Scale(1 << 26);
  const Record record{.name = "scale",
                      .gpu = H100().name,
                      .grid = launch.grid,
                      .block = launch.block,
                      .counts = *CountLaunch(*code, launch, H100(), {})};
  const std::string text = ExplainText(record, H100());
  EXPECT_NE(text.find("bounds     latency 8"), std::string::npos) << text;
  EXPECT_NE(text.find("268 MB read, 268 MB written"), std::string::npos) << text;
  const std::string svg = RooflineSvg(record, H100());
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("<circle "), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

// The height of the kernel's point follows from its operations.
TEST(ExplainTest, DrawsAKernelOfHalvesAsHighAsOneOfTwiceTheOperations) {
  Record record{.name = "any", .gpu = H100().name};
  record.counts.blocks = 132;
  record.counts.warps = 8;
  record.counts.resident_blocks = 1;
  record.counts.block.clocks = 1e6;
  record.counts.bytes_read = 1e6;
  record.counts.block.issued[static_cast<std::size_t>(Pipe::kHalf)] = 1e6;
  const auto point = [&record](double operations) {
    record.counts.block.lane_operations = operations;
    const std::string svg = RooflineSvg(record, H100());
    const std::size_t at = svg.find("<circle ");
    return svg.substr(at, svg.find("/>", at) - at);
  };

  EXPECT_NE(point(1e6 * 128), point(1e6 * 64));
}

}  // namespace
}  // namespace eidolon::timing::count
