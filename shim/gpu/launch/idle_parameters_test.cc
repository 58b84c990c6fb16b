#include "shim/gpu/launch/idle_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "services/contract/workload/pointer_tag.h"
#include "shim/gpu/module/sample.h"

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

TEST(IdleParametersTest, NumbersOfKernelsOverListsAreTakenOut) {
  // PointwiseOpScalarListFunctor: scalars of one for each of 336 tensors, then a functor and what
  // the launch is given besides.
  constexpr std::uint32_t kLists = 25536;
  constexpr std::uint32_t kScalars = (3 * 8 + 8) * 336;
  const std::string name =
      "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"
      "28TensorListScalarListMetadataIfLi3EEE";
  const std::vector<cubin::Parameter> parameters = {
      {0, kLists}, {kLists, 1}, {kLists + 4, 4}, {kLists + 8, 8}};
  const IdleParameters idle(name, parameters, nullptr);
  std::vector<std::byte> block(kLists + 16);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(block.data() + at, &value, sizeof(value));
  };
  put(kScalars - 8, std::uint64_t{1000});  // How long the last tensor is.
  put(kLists + 8, workload::kPointerTag | 0x40);
  const std::vector<std::byte> rest = block;
  put(kScalars + 4, 0x3f800000u);
  put(kScalars + 8, 0x40000000u);
  put(kLists + 4, 0x3f000000u);

  FoundWords<compute::NumberWord> found;
  idle.TakeNumbers(block.data(), found);

  EXPECT_EQ(block, rest);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> words;
  for (const auto& [at, value] : found.list()) words.emplace_back(at, value);
  EXPECT_THAT(words, ElementsAre(Pair(kScalars + 4, 0x3f800000u), Pair(kScalars + 8, 0x40000000u),
                                 Pair(kLists + 4, 0x3f000000u)));
}

TEST(IdleParametersTest, TheNumberOfACallOfXlasSumIsTakenOut) {
  const std::vector<cubin::Parameter> parameters = {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 8}};
  const IdleParameters idle("all_reduce_start_2_fusion", parameters, nullptr);
  std::vector<std::byte> block(32);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(block.data() + at, &value, sizeof(value));
  };
  for (const std::size_t at : {0, 8, 24}) put(at, workload::kPointerTag | 0x20);
  const std::vector<std::byte> first_call = block;
  put(16, 1u);
  put(20, 57u);

  FoundWords<compute::NumberWord> found;
  idle.TakeNumbers(block.data(), found);

  EXPECT_EQ(block, first_call);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> words;
  for (const auto& [at, value] : found.list()) words.emplace_back(at, value);
  EXPECT_THAT(words, ElementsAre(Pair(16, 1u), Pair(20, 57u)));
}

TEST(IdleParametersTest, NumbersOfOtherKernelsStay) {
  const IdleParameters idle("scale", std::vector<cubin::Parameter>{{0, 8}, {8, 4}, {12, 4}},
                            nullptr);
  std::vector<std::byte> block(16, std::byte{0x77});
  const std::vector<std::byte> before = block;

  FoundWords<compute::NumberWord> found;
  idle.TakeNumbers(block.data(), found);

  EXPECT_EQ(block, before);
  EXPECT_TRUE(found.list().empty());
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
