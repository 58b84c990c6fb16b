#include "services/timing/count/pipes.h"

#include <gtest/gtest.h>

namespace eidolon::timing::count {
namespace {

// Words as nvdisasm shows them in FlashAttention 4's kernels for 9.0 and 10.0, and in a kernel of
// every kind of tcgen05.mma.
interpret::Step StepOf(std::uint64_t low, std::uint64_t high) {
  interpret::Step step;
  step.word = {.low = low, .high = high};
  return step;
}

TEST(PipesTest, AGroupOfMatrixInstructionsEndsWhereItsLastOneSaysSo) {
  // HGMMA.64x128x16.F32.BF16 R24, gdesc[UR24], R24; and the same with gsb0.
  const auto within = StepOf(0x01e00000181879f0, 0x000fe20008701818);
  const auto last = StepOf(0x01e000001c1879f0, 0x000fec0008001818);
  MatrixType type{};

  EXPECT_FALSE(EndsMatrixGroup(within));
  EXPECT_TRUE(EndsMatrixGroup(last));
  EXPECT_EQ(MatrixOperations(last, &type), 2.0 * 16 * 128 * 16);
  EXPECT_EQ(type, MatrixType::kBf16);
}

TEST(PipesTest, AWaitSaysHowManyGroupsMayBeUnderWay) {
  EXPECT_EQ(MatrixGroupsLeft(StepOf(0x00008000000079c5, 0x000fc40000010000)), 0u);
  EXPECT_EQ(MatrixGroupsLeft(StepOf(0x00008000000079c5, 0x000fc40000010100)), 1u);
  // WARPGROUP.ARRIVE
  EXPECT_FALSE(MatrixGroupsLeft(StepOf(0x00000000000079c5, 0x000fe20000000000)));
}

TEST(PipesTest, WhatIsMultipliedIntoTensorMemoryFollowsFromItsDescriptor) {
  // 128 rows by 256 columns: the rows by 16 from bit 24 on, the columns by 8 from bit 17 on.
  constexpr std::uint32_t kShape = 8u << 24 | 32u << 17;
  constexpr std::uint32_t kBf16 = 1u << 7 | 1u << 10, kTf32 = 2u << 7 | 2u << 10;
  constexpr double kEach = 2.0 * 128 * 256;
  const auto half = StepOf(0x00ff040e0c0075ea, 0x0011d80008000008);
  const auto from_tensor_memory = StepOf(0x00ff040e0b0079ea, 0x0011d80008000008);
  const auto integers = StepOf(0x00ff040e0c0075ea, 0x0011d80008000108);
  const auto eighths = StepOf(0x00ff040e0c0075ea, 0x0011d80008000308);
  const auto scaled = StepOf(0x000a040e0c007dea, 0x0011d80008000308);
  const auto quarters = StepOf(0x800a040e0c0075ea, 0x0011d80008000008);
  MatrixType type{};

  EXPECT_EQ(MatrixDescriptorRow(half), 5u);  // idesc[UR5]
  EXPECT_EQ(PipeOf(half), Pipe::kTensor);
  EXPECT_EQ(DescribedOperations(half, kShape | kBf16, &type), kEach * 16);
  EXPECT_EQ(type, MatrixType::kBf16);
  EXPECT_EQ(DescribedOperations(half, kShape | kTf32, &type), kEach * 8);
  EXPECT_EQ(type, MatrixType::kTf32);
  EXPECT_EQ(MatrixDescriptorRow(from_tensor_memory), 5u);
  EXPECT_EQ(DescribedOperations(integers, kShape, &type), kEach * 32);
  EXPECT_EQ(type, MatrixType::kInt8);
  EXPECT_EQ(DescribedOperations(eighths, kShape, &type), kEach * 32);
  EXPECT_EQ(type, MatrixType::kFp8);
  EXPECT_EQ(MatrixDescriptorRow(scaled), 5u);
  EXPECT_EQ(DescribedOperations(quarters, kShape, &type), kEach * 64);
  EXPECT_EQ(type, MatrixType::kFp4);
}

TEST(PipesTest, TwoBlocksMayShareWhatOneOfThemIssues) {
  // UTCHMMA.2CTA
  EXPECT_TRUE(IsOfBlockPair(StepOf(0x00ff2622240075ea, 0x0005e2000fa0002f)));
  EXPECT_FALSE(IsOfBlockPair(StepOf(0x00ff040e0c0075ea, 0x0011d80008000008)));
  EXPECT_FALSE(IsOfBlockPair(StepOf(0x00008000000079c5, 0x000fe200002e0000)));
}

TEST(PipesTest, ALaneWorksOnOneNumberOrTwoAndAFusedOperationCountsTwice) {
  using sass::Operation;
  const auto operations = [](Operation operation) {
    interpret::Step step;
    step.operation = operation;
    return LaneOperations(step);
  };
  for (const Operation one : {Operation::kFadd, Operation::kFmul, Operation::kDadd}) {
    EXPECT_EQ(operations(one), 1);
  }
  for (const Operation two : {Operation::kFfma, Operation::kDfma, Operation::kFadd2,
                              Operation::kFmul2, Operation::kHadd2, Operation::kHmul2}) {
    EXPECT_EQ(operations(two), 2);
  }
  for (const Operation four : {Operation::kHfma2, Operation::kHfma2Mma, Operation::kFfma2}) {
    EXPECT_EQ(operations(four), 4);
  }
  EXPECT_EQ(operations(Operation::kImad), 0);
  EXPECT_EQ(operations(Operation::kHmma), 0);
  // HFMA2.MMA R0, -RZ, RZ, 0, 0
  interpret::Step constant = StepOf(0x00000000ff007435, 0x000fe200000001ff);
  constant.operation = Operation::kHfma2Mma;
  constant.c.kind = interpret::Operand::Kind::kFixed;  // The others are zero registers.
  EXPECT_EQ(LaneOperations(constant), 0);
}

TEST(PipesTest, OtherInstructionsMultiplyNothing) {
  const auto barrier = StepOf(0x000000ff490073e9, 0x0003e200080000ff);  // UTCBAR
  MatrixType type{};

  EXPECT_FALSE(MatrixDescriptorRow(barrier));
  EXPECT_EQ(MatrixOperations(barrier, &type), 0);
}

}  // namespace
}  // namespace eidolon::timing::count
