#include "services/contract/torch_layout/offset_calculator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace eidolon::torch_layout {
namespace {

constexpr char kLambda[] =
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_"
    "addIfEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_";
constexpr char kIndexing[] =
    "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index_kernel_"
    "implINS0_10OpaqueTypeILi8EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_EUlPcPKclE_EEvS7_"
    "SA_SA_RKT_bEUliE_EEvlT1_";
constexpr char kReduction[] =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_";
constexpr char kUnrolled[] =
    "_ZN2at6native27unrolled_elementwise_kernelINS0_15FillFunctorIfEESt5arrayIPcLm1EELi4E23Trivial"
    "OffsetCalculatorILi0EjE16OffsetCalculatorILi1EjLb0EENS0_6memory12LoadWithCast";

using Block = std::vector<std::byte>;

// Any range of addresses will do, as long as nothing else in the blocks lies in it.
constexpr std::uint64_t kDevice = std::uint64_t{0x7f} << 40;
std::uint64_t DeviceAddress(std::uint64_t offset) { return kDevice + offset; }
bool IsAddress(std::uint64_t word) { return word >> 40 == kDevice >> 40; }

template <typename T>
void Put(Block& block, std::size_t at, T value) {
  std::memcpy(block.data() + at, &value, sizeof(value));
}

void PutCalculator(Block& block, std::size_t at, std::span<const std::uint32_t> sizes) {
  Put(block, at, static_cast<std::int32_t>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto shift = static_cast<std::uint32_t>(std::bit_width(sizes[i] - 1));
    const std::uint64_t magic =
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - sizes[i])) / sizes[i] + 1;
    Put(block, at + 4 + 12 * i, sizes[i]);
    Put(block, at + 8 + 12 * i, static_cast<std::uint32_t>(magic));
    Put(block, at + 12 + 12 * i, shift);
  }
}

Block Chance(std::size_t bytes) { return Block(bytes, std::byte{0xaa}); }

void Clear(CalculatorUse use, Block& block, std::uint32_t offset, std::uint32_t bytes) {
  for (const auto& found : FindCalculators(use, {block.data(), offset, bytes, IsAddress})) {
    found.ClearUnused(block.data());
  }
}

bool IsZero(const Block& block, std::size_t begin, std::size_t end) {
  return std::all_of(block.begin() + std::ptrdiff_t(begin), block.begin() + std::ptrdiff_t(end),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST(OffsetCalculatorTest, KernelsTellHowTheyGetThem) {
  EXPECT_EQ(CalculatorUseOf(kLambda), CalculatorUse::kLambda);
  EXPECT_EQ(CalculatorUseOf(kIndexing), CalculatorUse::kIndex);
  EXPECT_EQ(CalculatorUseOf(kReduction), CalculatorUse::kReduction);
  EXPECT_EQ(CalculatorUseOf(kUnrolled), CalculatorUse::kParameters);
  EXPECT_EQ(CalculatorUseOf("_Z5scalePffi"), CalculatorUse::kNone);
}

// {calculator of three operands, padding, three pointers, functor}, behind a count.
TEST(OffsetCalculatorTest, ALambdasUnusedDimensionsAreCleared) {
  constexpr std::uint32_t kBytes = 608 + 24 + 8;
  Block block = Chance(8 + kBytes);
  const std::uint32_t sizes[] = {7, 4096};
  PutCalculator(block, 8, sizes);
  for (std::size_t i = 0; i < 3; ++i) Put(block, 8 + 608 + 8 * i, DeviceAddress(256 * i));
  const Block before = block;

  Clear(CalculatorUse::kLambda, block, 8, kBytes);

  EXPECT_TRUE(std::equal(block.begin(), block.begin() + 8 + 4 + 24, before.begin()));
  EXPECT_TRUE(IsZero(block, 8 + 4 + 24, 8 + 304));
  EXPECT_TRUE(std::equal(block.begin() + 8 + 304, block.begin() + 8 + 304 + 24,
                         before.begin() + 8 + 304));  // Three strides of two dimensions.
  EXPECT_TRUE(IsZero(block, 8 + 304 + 24, 8 + 608));
  EXPECT_TRUE(std::equal(block.begin() + 8 + 608, block.end(), before.begin() + 8 + 608));
}

TEST(OffsetCalculatorTest, PointersLeftAmongTheStridesMakeNoOperands) {
  constexpr std::uint32_t kBytes = 704 + 32;
  Block block = Chance(8 + kBytes);
  const std::uint32_t sizes[] = {7, 4096};
  PutCalculator(block, 8, sizes);
  for (std::size_t i = 0; i < 3; ++i) Put(block, 8 + 608 + 8 * i, DeviceAddress(256 * i));
  for (std::size_t i = 0; i < 4; ++i) Put(block, 8 + 704 + 8 * i, DeviceAddress(256 * i));

  const auto found = FindCalculators(CalculatorUse::kLambda, {block.data(), 8, kBytes, IsAddress});

  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].operands, 4u);
}

TEST(OffsetCalculatorTest, AnIndexingLambdaHasThreeOperandsAndTwoPointers) {
  Block block = Chance(1248);
  const std::uint32_t sizes[] = {512};
  PutCalculator(block, 8, sizes);
  for (std::size_t i = 0; i < 2; ++i) Put(block, 616 + 8 * i, DeviceAddress(256 * i));

  Clear(CalculatorUse::kIndex, block, 8, 1240);

  EXPECT_TRUE(IsZero(block, 24, 8 + 304));
  EXPECT_EQ(block[8 + 304 + 11], std::byte{0xaa});
  EXPECT_TRUE(IsZero(block, 8 + 304 + 12, 8 + 608));
  EXPECT_EQ(block[632], std::byte{0xaa});
}

TEST(OffsetCalculatorTest, AReductionHasTwo) {
  Block block = Chance(1048);
  const std::uint32_t one[] = {1000};
  const std::uint32_t two[] = {3, 1 << 30};
  PutCalculator(block, 72, one);
  PutCalculator(block, 72 + 404, two);

  Clear(CalculatorUse::kReduction, block, 0, 1048);

  EXPECT_EQ(block[71], std::byte{0xaa});
  EXPECT_TRUE(IsZero(block, 72 + 16, 72 + 304));
  EXPECT_EQ(block[72 + 304], std::byte{0xaa});
  EXPECT_TRUE(IsZero(block, 72 + 308, 72 + 404));
  EXPECT_TRUE(IsZero(block, 476 + 4 + 24, 476 + 304));
  EXPECT_TRUE(IsZero(block, 476 + 304 + 16, 476 + 504));
  EXPECT_TRUE(IsZero(block, 980, 984));
  EXPECT_EQ(block[984], std::byte{0xaa});
}

TEST(OffsetCalculatorTest, WhatDoesNotDivideAsOneIsLeftAlone) {
  for (const auto use : {CalculatorUse::kLambda, CalculatorUse::kIndex, CalculatorUse::kReduction,
                         CalculatorUse::kParameters}) {
    Block block = Chance(1048);
    const Block before = block;
    Clear(use, block, 0, 1048);
    EXPECT_EQ(block, before);
    Clear(use, block, 8, 404);
    EXPECT_EQ(block, before);
    Clear(use, block, 8, 16);
    EXPECT_EQ(block, before);
  }
  // Pointers that are none of the device's: nobody knows how many operands there are.
  Block block = Chance(648);
  const std::uint32_t sizes[] = {7};
  PutCalculator(block, 8, sizes);
  const Block before = block;
  Clear(CalculatorUse::kLambda, block, 8, 640);
  EXPECT_EQ(block, before);
}

TEST(OffsetCalculatorTest, OneOfItsOwnIsFoundByItsSize) {
  Block block = Chance(8 + 504);
  const std::uint32_t sizes[] = {1, 2, 3};
  PutCalculator(block, 8, sizes);

  Clear(CalculatorUse::kParameters, block, 8, 504);

  EXPECT_EQ(block[8 + 4 + 36 - 12], std::byte{3});
  EXPECT_TRUE(IsZero(block, 8 + 4 + 36, 8 + 304));
  EXPECT_EQ(block[8 + 304 + 23], std::byte{0xaa});
  EXPECT_TRUE(IsZero(block, 8 + 304 + 24, 8 + 504));
}

}  // namespace
}  // namespace eidolon::torch_layout
