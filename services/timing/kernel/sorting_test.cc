#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/sort_launches_test.h"

namespace eidolon::timing::kernel {
namespace {

Demand SortingDemand(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

// Keys of 8 bits, values of 64.
constexpr char kOnesweep[] =
    "_ZN14at_cuda_detail3cub6detail10radix_sort29DeviceRadixSortOnesweepKernelINS1_5radix10"
    "policy_hubIalyE10Policy1000ELNS0_9SortOrderE0EalyiiNS1_21identity_decomposer_tEEEvPT5_SB_PT3_"
    "PKSC_PT1_PKSG_PT2_PKSK_T4_iiT6_";

TEST(SortingTest, ARadixPassReadsAndWritesKeysAndValues) {
  LaunchBuilder builder(kOnesweep);
  builder.Grid(700).Block(512);
  for (int i = 0; i < 8; ++i) builder.Pointer();
  builder.Add<std::int32_t>(4 << 20).Add<std::int32_t>(0).Add<std::int32_t>(8);

  const Demand demand = SortingDemand(builder.Build());

  EXPECT_EQ(demand.family, Family::kSort);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 2 * (4 << 20) * (1 + 8));
}

TEST(SortingTest, ASegmentIsReadOnceMoreThanItIsWritten) {
  const Demand demand = SortingDemand(SortSegments("float", 512, 50'304));

  EXPECT_EQ(demand.family, Family::kSort);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 512.0 * 50'304 * (4 + 2 * (4 + 8)));
  EXPECT_DOUBLE_EQ(SortingDemand(SortSegments("float", 1024, 50'304)).bytes, 2 * demand.bytes);
}

Demand ScanOf(std::uint32_t tiles) {
  constexpr char kScan[] =
      "_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIaaajSt4plusIaEE10"
      "Policy1000EPKaPaNS0_13ScanTileStateIaLb1EEES6_NS0_8NullTypeEjaLb0ESE_EEvT0_T1_T2_iT3_T4_T5_";
  return SortingDemand(LaunchBuilder(kScan)
                           .Grid(tiles)
                           .Block(128)
                           .Pointer()
                           .Pointer()
                           .Pointer()
                           .Add<std::int32_t>(0)
                           .AddBytes("\0", 1)
                           .AddBytes("\0", 1)
                           .Add<std::uint32_t>(tiles * 3840)
                           .Build());
}

TEST(SortingTest, TilesOfAScanWaitForMoreTheMoreThereAre) {
  EXPECT_EQ(ScanOf(8).family, Family::kScan);
  EXPECT_LT(ScanOf(1).serial_steps, 1);
  EXPECT_GT(ScanOf(500).serial_steps, ScanOf(8).serial_steps + 3);
  EXPECT_DOUBLE_EQ(ScanOf(100'000).serial_steps, ScanOf(10'000).serial_steps);
}

TEST(SortingTest, NarrowScansTakeTheTimeOfAdding) {
  EXPECT_DOUBLE_EQ(ScanOf(10).flops, 10 * 3840 * 200);
}

// Returns the demand of counting digits of 8 bits; `slices` of 1024 with room for 64 elements a
// thread, one block each.
Demand DigitCounts(std::uint32_t grid_x, std::uint32_t grid_y, std::uint32_t slices) {
  constexpr char kCounts[] =
      "_ZN2at6native6mbtopk23computeBlockDigitCountsIajjLi1EEEvNS_4cuda6detail10TensorInfoIKT_T0_"
      "EEjPjjS8_iijT1_PSB_Ps";
  return SortingDemand(LaunchBuilder(kCounts)
                           .Grid(grid_x, grid_y)
                           .Block(256)
                           .AddBytes(std::string(216, '\0'), 8)
                           .Add<std::uint32_t>(1024)
                           .Pointer()
                           .Add<std::uint32_t>(slices)
                           .Add<std::uint32_t>(1)
                           .Add<std::int32_t>(24)
                           .Add<std::int32_t>(64)
                           .Add<std::uint32_t>(1)
                           .Add<std::uint32_t>(0)
                           .Pointer()
                           .Pointer()
                           .Build());
}

TEST(SortingTest, BlocksOfTopKThatHaveNothingToDoHardlyCount) {
  const Demand whole = DigitCounts(65'536, 1, 65'536);
  const Demand rounded = DigitCounts(65'535, 2, 65'536);

  EXPECT_DOUBLE_EQ(whole.bytes, 65'536.0 * 1024);
  EXPECT_NEAR(whole.wave_steps, 4.8, 0.01);  // Four elements a thread, not 64.
  EXPECT_EQ(whole.serial_steps, 0);
  EXPECT_NEAR(rounded.wave_steps * 2, whole.wave_steps, 0.01);
  EXPECT_NEAR(rounded.serial_steps, 65.5, 0.1);
}

Demand BlockSortOf(int threads, int items, const std::string& key) {
  const std::string name = "void at::native::radixSortKVInPlace<2, -1, " + std::to_string(threads) +
                           ", " + std::to_string(items) + ", " + key +
                           ", long, unsigned int>(int, int)";
  return SortingDemand(
      LaunchBuilder(name).Grid(1000).Block(static_cast<std::uint32_t>(threads)).Build());
}

TEST(SortingTest, ABlockSortsByDigitsOfItsKeysAndItemByItem) {
  const Demand narrow = BlockSortOf(128, 32, "c10::BFloat16");
  const Demand wide = BlockSortOf(128, 32, "float");
  const Demand few = BlockSortOf(128, 4, "float");

  EXPECT_TRUE(wide.in_step);
  EXPECT_DOUBLE_EQ(wide.bytes, 2 * 1000.0 * 4096 * (4 + 8));
  EXPECT_DOUBLE_EQ(few.bytes, wide.bytes / 8);
  // Four more digits of four bits.
  EXPECT_DOUBLE_EQ(wide.dependent_clocks - narrow.dependent_clocks, 4 * (565 + 32 * 63.6));
  EXPECT_LT(few.dependent_clocks, wide.dependent_clocks / 3);
  EXPECT_GT(few.dependent_clocks, wide.dependent_clocks / 8);
  EXPECT_GT(BlockSortOf(128, 32, "long").shared_wavefronts, 2 * wide.shared_wavefronts);
}

TEST(SortingTest, BitonicSortsExchangeInEveryStage) {
  constexpr char kBitonic[] =
      "_ZN2at6native20bitonicSortKVInPlaceILi2ELin1ELi16ELi16EalNS0_4GTOpIaLb1EEEjEEvNS_4cuda6"
      "detail10TensorInfoIT3_T6_EES8_S8_S8_NS6_IT4_S8_EES8_T5_";
  const auto of = [&](std::uint32_t lanes) {
    return SortingDemand(LaunchBuilder(kBitonic).Grid(100).Block(lanes, 16).Build());
  };

  EXPECT_DOUBLE_EQ(of(16).address_operations, 100.0 * 256 * 47 * 15);
  EXPECT_DOUBLE_EQ(of(32).address_operations, 100.0 * 512 * 47 * 21);
}

TEST(SortingTest, NarrowAdditionsByIndexGoOneByOne) {
  constexpr char kAdd[] =
      "_ZN2at6native19indexFuncLargeIndexIaijLi1ELi1ELin2ELb1ENS0_44_GLOBAL__N__b23ef953_11_"
      "Indexing_cu_89862edb9ReduceAddEEEvNS_4cuda6detail10TensorInfoIT_T1_EENS6_IKS7_S8_EENS6_IKT0_"
      "S8_EEiiS8_S8_llRKT6_S7_";
  LaunchBuilder builder(kAdd);
  builder.Grid(1056).Block(128);
  // Sizes that the kernel does not read are zero.
  for (int i = 0; i < 3; ++i) builder.AddBytes(std::string(216, '\0'), 8);
  builder.Add<std::int32_t>(0).Add<std::int32_t>(0);
  builder.Add<std::uint32_t>(8192 * 768).Add<std::uint32_t>(768);

  const Demand demand = SortingDemand(builder.Build());

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.sectors, 8192 * 768);
  EXPECT_GE(demand.bytes, 3 * 8192 * 768);
}

TEST(SortingTest, LanesThatMeetInABinOfAHistogramTakeTurns) {
  const Demand two = SortingDemand(CountInBins("float", 1 << 20, 2));
  const Demand sixteen = SortingDemand(CountInBins("float", 1 << 20, 16));
  const Demand integers = SortingDemand(CountInBins("long", 1 << 20, 16));
  const Demand many = SortingDemand(CountInBins("float", 1 << 20, 4096));

  EXPECT_EQ(two.family, Family::kSort);
  EXPECT_EQ(two.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(two.bytes, 4.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(integers.bytes, 8.0 * (1 << 20));
  EXPECT_GT(two.address_operations, 2 * sixteen.address_operations);
  EXPECT_GT(integers.address_operations, sixteen.address_operations);
  EXPECT_DOUBLE_EQ(many.address_operations, 39.0 * 64 / 32 * (1 << 20));  // Hardly any meet.
}

TEST(SortingTest, BinsBeyondSharedMemoryAreCountedElementByElement) {
  const Demand far = SortingDemand(CountInBins("float", 1 << 20, 65'536, true));

  EXPECT_DOUBLE_EQ(far.sectors, 1.7 * (1 << 20));
  EXPECT_DOUBLE_EQ(far.address_operations, 0);
}

Demand ColumnScanOf(std::uint32_t columns, std::uint32_t rows) {
  constexpr char kScan[] =
      "void at::native::tensor_kernel_scan_outer_dim<float, unsigned int, std::plus<float> "
      ">(float*, "
      "float const*, unsigned int, unsigned int, unsigned int, float, std::plus<float>)";
  return SortingDemand(LaunchBuilder(kScan)
                           .Grid(1, 8)
                           .Block(512)
                           .Pointer()
                           .Pointer()
                           .Add<std::uint32_t>(1)
                           .Add<std::uint32_t>(columns)
                           .Add<std::uint32_t>(rows)
                           .Add(0.0F)
                           .AddBytes("\0", 1)
                           .Build());
}

TEST(SortingTest, AScanDownColumnsWaitsForEachRow) {
  const Demand demand = ColumnScanOf(4096, 1000);

  EXPECT_EQ(demand.family, Family::kScan);
  EXPECT_DOUBLE_EQ(demand.bytes, 4096.0 * 1000 * 8);
  EXPECT_DOUBLE_EQ(demand.dependent_loads, 1000);
  EXPECT_DOUBLE_EQ(ColumnScanOf(8192, 1000).dependent_loads, 1000);
}

Demand RandomNumbersOf(const char* distribution) {
  const std::string name =
      std::string(
          "void at::native::(anonymous namespace)::"
          "distribution_elementwise_grid_stride_kernel<float, 4, at::native::templates::"
          "cuda::") +
      distribution +
      "<at::CUDAGeneratorImpl*>(at::TensorIteratorBase&)::{lambda()#1}>(long, "
      "at::PhiloxCudaState, int)";
  return SortingDemand(LaunchBuilder(name)
                           .Grid(1056)
                           .Block(256)
                           .Add<std::int64_t>(1 << 24)
                           .AddBytes(std::string(24, '\0'), 8)
                           .Add<std::int32_t>(0)
                           .Build());
}

TEST(RandomTest, NormalNumbersTakeMoreInstructionsThanUniformOnesAndAreOnlyWritten) {
  const Demand normal = RandomNumbersOf("normal_kernel");
  const Demand uniform = RandomNumbersOf("uniform_kernel");

  EXPECT_EQ(normal.family, Family::kRandom);
  EXPECT_DOUBLE_EQ(normal.bytes, 4.0 * (1 << 24));
  EXPECT_TRUE(normal.only_writes);
  EXPECT_GT(normal.instructions, 1.3 * uniform.instructions);
  EXPECT_GT(uniform.instructions, 30.0 * (1 << 24));
}

}  // namespace
}  // namespace eidolon::timing::kernel
