#include "shim/value/compute/experience.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "shim/gpu/module/sample.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kBuffer = 0x6b0100000000;

constexpr Arena kArena{
    .holds = [](std::uint64_t a) { return a - kBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      return Arena::Range(a >> 20 << 20, ((a >> 20) + 1) << 20);
    }};

// tile(40 bytes, u8, u64 out) reads a pointer in the middle of its first parameter, and no more of
// it.
struct TileParameters {
  std::uint64_t before[2] = {1, 2};
  std::uint64_t first = kBuffer;
  std::uint64_t behind[2] = {3, 4};
  std::uint8_t flag = 5;
  std::uint8_t gap[7] = {};
  std::uint64_t out = kBuffer + 4096;
};

std::span<const std::byte> BytesOf(const TileParameters& parameters) {
  return std::as_bytes(std::span(&parameters, 1));
}

class ExperienceTest : public testing::Test {
 protected:
  const Footprint* Add(const TileParameters& parameters) {
    const MachineCode& code =
        FindMachineCode(gpu::SampleFatBinary().data(), "tile", {9, 0}, store_);
    const LaunchPointers pointers(BytesOf(parameters), kArena);
    const Stores stores = interpret::FindStores(*code.program, pointers.Places());
    const interpret::Launch launch{
        .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = BytesOf(parameters)};
    return AddFootprint(kernel_, shape_,
                        {.program = *code.program,
                         .launch = launch,
                         .pointers = pointers,
                         .stores = stores,
                         .variables = {},
                         .whole = true},
                        store_, KeptFootprints("", {}));
  }
  const Footprint* Find(const TileParameters& parameters) const {
    return FindFootprint(shape_, BytesOf(parameters));
  }
  std::optional<UnknownInput> Unknown(const TileParameters& parameters) const {
    const auto bytes = BytesOf(parameters);
    return FindUnknown(shape_, bytes, LaunchPointers(bytes, kArena), store_);
  }

  value::Store store_;
  KernelExperience kernel_;
  ShapeExperience shape_;
};

TEST_F(ExperienceTest, WhatNoInstructionReadsMakesNoDifference) {
  const Footprint* const learned = Add({});

  EXPECT_EQ(Find({.before = {7, 8}, .behind = {9, 10}}), learned);
  EXPECT_EQ(Find({.first = kBuffer + (1 << 20), .out = kBuffer}), learned);
}

TEST_F(ExperienceTest, AnotherScalarOrAlignmentIsAMemoOfItsOwn) {
  Add({});

  EXPECT_EQ(Find({.flag = 6}), nullptr);
  EXPECT_EQ(Find({.first = kBuffer + 4}), nullptr);
}

TEST_F(ExperienceTest, AKernelTeachesOnlySoOften) {
  kernel_.footprints = kMostFootprints - 1;
  const Footprint* const learned = Add({});
  const Footprint* const taken = Add({.flag = 6});

  EXPECT_EQ(learned->buffers.size(), 0u);
  EXPECT_EQ(learned->writes.size(), 2u);
  // The footprint holds from then on for every launch that has no memo.
  EXPECT_EQ(taken->buffers.size(), 2u);
  EXPECT_EQ(taken->writes.size(), 0u);
  EXPECT_EQ(Find({.flag = 7}), taken);
  EXPECT_EQ(Find({}), learned);
}

TEST_F(ExperienceTest, AnUnknownInputIsFoundAgainBehindOtherPointers) {
  const TileParameters parameters;
  const std::vector<std::uint32_t> places = {16, 48};
  const UnknownInput input{.pointer = 16, .distance = 64};
  std::vector<std::uint8_t> read(14, 0);
  read[10] = 1;
  RememberUnknown(shape_, Condition(BytesOf(parameters), read, places), input);
  const TileParameters other{.before = {7, 8}, .first = kBuffer + 8192};

  EXPECT_EQ(Unknown(other), input);
  EXPECT_EQ(Unknown({.flag = 6}), std::nullopt);
  store_.Fill(kBuffer + 8192, 0, 1, 128);
  EXPECT_EQ(Unknown(other), std::nullopt);
  EXPECT_EQ(Unknown(parameters), input);
}

TEST(ConditionTest, ReadsNoFurtherThanTheBlock) {
  const std::vector<std::byte> block(6, std::byte{1});
  const std::vector<std::uint8_t> read(8, 1);
  const Condition condition(block, read, {});

  EXPECT_TRUE(condition.Holds(block));
  EXPECT_FALSE(condition.Holds(std::span(block).first(5)));
  EXPECT_FALSE(condition.Holds({}));
}

}  // namespace
}  // namespace eidolon::shim::compute
