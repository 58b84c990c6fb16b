// Rules of topk and of the kernels around sorts.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "services/timing/kernel/index_launches_test.h"
#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

Demand SelectionDemand(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

double InstructionsOf(std::uint32_t slice, std::uint32_t k, const std::string& type) {
  return SelectionDemand(SelectInBlocks(32, slice, k, type)).instructions;
}

TEST(SelectionTest, ABlockReadsItsSliceOnceWhereTheFirstLevelCacheHoldsIt) {
  const Demand held = SelectionDemand(SelectInBlocks(32, 4096, 8, "float"));
  const Demand beyond = SelectionDemand(SelectInBlocks(32, 65'536, 8, "float"));

  EXPECT_EQ(held.family, Family::kSort);
  EXPECT_EQ(held.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(held.bytes, 32.0 * 4096 * 4);
  EXPECT_GT(beyond.bytes, 5 * 32.0 * 65'536 * 4);
  EXPECT_LE(beyond.bytes, (16 + 2) * 32.0 * 65'536 * 4);
}

TEST(SelectionTest, FloatsStandAloneBeforeTheirLastDigit) {
  // Two bits a pass: 32, 16 and 64 at most, however many are wanted.
  const double all_of_32 = 32 * 1024 * (134 * 16 + 317);
  const double all_of_16 = 32 * 1024 * (134 * 8 + 317);
  EXPECT_LT(InstructionsOf(1024, 8, "float"), all_of_32);
  EXPECT_LE(InstructionsOf(1024, 8, "c10::BFloat16"), all_of_16);
  EXPECT_DOUBLE_EQ(InstructionsOf(1024, 8, "long"), 32 * 1024 * (134 * 32 + 317));
  EXPECT_DOUBLE_EQ(InstructionsOf(1024, 8, "int"), all_of_32);
  EXPECT_DOUBLE_EQ(InstructionsOf(1024, 1u << 30, "float"), all_of_32);
  // Fewer bits of exponent tell less apart.
  EXPECT_LT(InstructionsOf(1024, 8, "c10::Half"), InstructionsOf(1024, 8, "c10::BFloat16"));
}

TEST(SelectionTest, MoreOfTheLargestAndLongerSlicesTakeMore) {
  double last = 0;
  for (std::uint32_t k = 1; k <= 512; k *= 2) {
    EXPECT_GT(InstructionsOf(1024, k, "float"), last) << k;
    last = InstructionsOf(1024, k, "float");
  }
  last = 0;
  for (std::uint32_t slice = 64; slice <= 1 << 20; slice *= 2) {
    EXPECT_GT(InstructionsOf(slice, 8, "float"), last) << slice;
    last = InstructionsOf(slice, 8, "float");
  }
}

// mbtopk's last kernel: slices of 1024 floats in blocks of 256 threads.
Demand GatherInManyBlocks(std::uint32_t slices, std::uint32_t blocks) {
  constexpr char kGather[] =
      "void at::native::mbtopk::gatherTopK<float, unsigned int, 1>(at::cuda::detail::TensorInfo<"
      "float const, unsigned int>, unsigned int, unsigned int, bool, unsigned int, unsigned int, "
      "at::cuda::detail::TensorInfo<float, unsigned int>, unsigned int, at::cuda::detail::"
      "TensorInfo<long, unsigned int>, unsigned int, unsigned int, unsigned int, float*, unsigned "
      "int*, unsigned int*, unsigned int)";
  LaunchBuilder builder(kGather);
  builder.Grid(slices * blocks).Block(256).AddBytes(std::string(216, '\0'), 8);
  builder.Add<std::uint32_t>(1024).Add<std::uint32_t>(8).Add<std::int8_t>(1);
  builder.Add(slices).Add<std::uint32_t>(1024).AddBytes(std::string(216, '\0'), 8);
  builder.Add<std::uint32_t>(1).AddBytes(std::string(216, '\0'), 8).Add<std::uint32_t>(1);
  builder.Add<std::uint32_t>(64).Add(blocks).Pointer().Pointer().Pointer().Add(blocks);
  return SelectionDemand(builder.Build());
}

TEST(SelectionTest, BlocksThatShareASliceHaveLessEach) {
  const Demand one = GatherInManyBlocks(64, 1);
  const Demand four = GatherInManyBlocks(64, 4);

  EXPECT_DOUBLE_EQ(one.bytes, 64.0 * 1024 * 4);
  EXPECT_DOUBLE_EQ(four.bytes, one.bytes);
  EXPECT_DOUBLE_EQ(one.wave_steps, 1.6 + 4 * 1.5);  // Four elements a thread.
  EXPECT_DOUBLE_EQ(four.wave_steps, 1.6 + 1.5);
}

TEST(SelectionTest, SumsOfDigitsReadTheCountsOfAllBlocksOfASlice) {
  const auto sums = [](std::uint32_t blocks) {
    return SelectionDemand(
        LaunchBuilder("at::native::mbtopk::computeDigitCumSum(short*, unsigned int*, unsigned int)")
            .Grid(64)
            .Block(256)
            .Pointer()
            .Pointer()
            .Add(blocks)
            .Build());
  };

  EXPECT_EQ(sums(1).family, Family::kSort);
  EXPECT_DOUBLE_EQ(sums(1).bytes, 64 * 256 * 2);
  EXPECT_DOUBLE_EQ(sums(12).bytes, 12 * sums(1).bytes);
}

TEST(SelectionTest, CountsOfTheKthAreLookedUpOneByOne) {
  const Demand demand = SelectionDemand(
      LaunchBuilder("void at::native::mbtopk::computeBlockwiseKthCounts<unsigned int>(unsigned "
                    "int*, short*, unsigned int, unsigned int, unsigned int*)")
          .Grid(3)
          .Block(256)
          .Pointer()
          .Pointer()
          .Add<std::uint32_t>(700)
          .Add<std::uint32_t>(1)
          .Pointer()
          .Build());

  EXPECT_DOUBLE_EQ(demand.sectors, 3 * 700);
  EXPECT_DOUBLE_EQ(demand.bytes, 12 * 700);
}

TEST(SelectionTest, ReversedIndicesAreWrittenOnce) {
  const Demand demand = SelectionDemand(
      LaunchBuilder("at::native::(anonymous namespace)::fill_reverse_indices_kernel(long*, int, "
                    "at::cuda::detail::IntDivider<unsigned int>)")
          .Grid(1024)
          .Block(1024)
          .Pointer()
          .Add<std::int32_t>(1 << 20)
          .AddBytes(std::string(12, '\0'), 4)
          .Build());

  EXPECT_EQ(demand.family, Family::kFill);
  EXPECT_DOUBLE_EQ(demand.bytes, 8.0 * (1 << 20));
  EXPECT_GT(demand.wave_steps, 0);
}

}  // namespace
}  // namespace eidolon::timing::kernel
