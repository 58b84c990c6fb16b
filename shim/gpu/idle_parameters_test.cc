#include "shim/gpu/idle_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "shim/gpu/sample.h"

namespace eidolon::shim::gpu {
namespace {

using interpret::ParameterRead;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// (int, empty functor, two pointers), as an element-wise kernel of PyTorch has them.
const std::vector<cubin::Parameter> kParameters = {{0, 4}, {4, 1}, {8, 16}};

TEST(IdleParametersTest, WhatCodeDoesNotReadIsIdle) {
  const std::vector<ParameterRead> reads = {{0, 4, false}, {8, 8, false}, {16, 8, false}};
  const IdleParameters idle("kernel", kParameters, &reads);
  std::vector<std::byte> block(24, std::byte{0x77});

  idle.Clear(block.data(), {1, 1, 1});

  EXPECT_THAT(idle.ranges(), ElementsAre(Pair(4, 5)));
  for (std::size_t at = 0; at < block.size(); ++at) {
    EXPECT_EQ(block[at], at == 4 ? std::byte{0} : std::byte{0x77}) << at;
  }
}

TEST(IdleParametersTest, PointersAreKept) {
  const std::vector<ParameterRead> none;
  const IdleParameters idle("kernel", std::vector<cubin::Parameter>{{0, 24}}, &none);
  std::vector<std::byte> block(24, std::byte{0x77});
  const std::uint64_t pointer = DeviceAddress(512);
  std::memcpy(block.data() + 8, &pointer, 8);

  idle.Clear(block.data(), {1, 1, 1});

  std::vector<std::byte> expected(24);
  std::memcpy(expected.data() + 8, &pointer, 8);
  EXPECT_EQ(block, expected);
}

TEST(IdleParametersTest, AnIndexReachesWholeArraysButNoSmallStructures) {
  const std::vector<cubin::Parameter> parameters = {{0, 16}, {16, 400}, {416, 12}};
  const std::vector<ParameterRead> reads = {{16, 2, true}};

  EXPECT_THAT(IdleParameters("kernel", parameters, &reads).ranges(),
              ElementsAre(Pair(0, 16), Pair(416, 428)));
}

TEST(IdleParametersTest, AnElementwiseKernelsFunctorIsNoNumber) {
  const std::vector<cubin::Parameter> parameters = {{0, 4}, {8, 8}, {16, 16}};
  const std::vector<ParameterRead> reads = {{16, 16, false}};

  EXPECT_THAT(IdleParameters("29vectorized_elementwise_kernelILi4E", parameters, &reads).ranges(),
              ElementsAre(Pair(8, 16)));
}

// An element count tells how much work there is, also where the code was made for one.
TEST(IdleParametersTest, NumbersThatCodeDoesNotReadAreKept) {
  const std::vector<cubin::Parameter> parameters = {{0, 8}, {8, 4}, {12, 4}, {16, 2}};
  const std::vector<ParameterRead> none;

  EXPECT_THAT(IdleParameters("kernel", parameters, &none).ranges(), IsEmpty());
}

TEST(IdleParametersTest, CodeThatIsNotUnderstoodReadsEverything) {
  EXPECT_THAT(IdleParameters("kernel", kParameters, nullptr).ranges(), IsEmpty());
}

TEST(IdleParametersTest, AReadBehindTheLastParameterIsNoError) {
  const std::vector<ParameterRead> reads = {{20, 16, false}, {4000, 4, true}};

  EXPECT_THAT(IdleParameters("kernel", kParameters, &reads).ranges(),
              ElementsAre(Pair(4, 5), Pair(8, 20)));
}

}  // namespace
}  // namespace eidolon::shim::gpu
