#include "shim/value/compute/footprint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "shim/gpu/module/sample.h"
#include "shim/value/compute/machine_code.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kFootprintBuffer = 0x6b0100000000;
constexpr std::uint64_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kOther = kFootprintBuffer + (std::uint64_t{1} << 30);

// Two buffers of 1 MiB.
constexpr Arena kFootprintArena{
    .holds = [](std::uint64_t a) { return a - kFootprintBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      for (const std::uint64_t begin : {kFootprintBuffer, kOther}) {
        if (a - begin < kBufferBytes) return Arena::Range(begin, begin + kBufferBytes);
      }
      return std::nullopt;
    },
    .version = [] { return std::uint64_t{1}; }};

constexpr std::array<Arena::Range, 1> kVariables = {{{kModuleBegin, kModuleBegin + 4096}}};

struct ScaleParameters {
  std::uint64_t out;
  float factor;
  std::uint32_t count;
};

class FootprintTest : public testing::Test {
 protected:
  // Returns what a launch of scale(out, 2, count) with 128 threads a block changes.
  Footprint LearnScale(const ScaleParameters& parameters, bool whole) {
    const MachineCode& code =
        FindMachineCode(gpu::SampleFatBinary().data(), "scale", {9, 0}, store_);
    const auto bytes = std::as_bytes(std::span(&parameters, 1));
    return Learn(
        *code.program,
        {.grid = {(parameters.count + 127) / 128, 1, 1}, .block = {128, 1, 1}, .parameters = bytes},
        whole);
  }
  Footprint Learn(const interpret::Program& program, const interpret::Launch& launch, bool whole) {
    const LaunchPointers pointers(launch.parameters, kFootprintArena);
    const Stores stores = interpret::FindStores(program, pointers.Places());
    return LearnFootprint({.program = program,
                           .launch = launch,
                           .pointers = pointers,
                           .stores = stores,
                           .variables = kVariables,
                           .whole = whole},
                          store_);
  }
  // A launch of a kernel of stores.ptx with these pointers and one block of 32 threads.
  Footprint LearnOf(const std::string& kernel, const std::vector<std::uint64_t>& pointers) {
    const MachineCode& code = FindMachineCode(gpu::StoresCubin().data(), kernel, {9, 0}, store_);
    return Learn(
        *code.program,
        {.grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = std::as_bytes(std::span(pointers))},
        true);
  }
  void ApplyTo(const Footprint& footprint, const std::vector<std::uint64_t>& pointers) {
    Apply(footprint, LaunchPointers(std::as_bytes(std::span(pointers)), kFootprintArena),
          kFootprintArena, store_);
  }
  void ApplyScale(const Footprint& footprint, const ScaleParameters& parameters) {
    Apply(footprint, LaunchPointers(std::as_bytes(std::span(&parameters, 1)), kFootprintArena),
          kFootprintArena, store_);
  }

  value::Store store_;
};

TEST_F(FootprintTest, AWholeLaunchChangesWhatItWritesWhereverItsPointerLeads) {
  const Footprint footprint = LearnScale({kFootprintBuffer, 2, 1000}, true);
  store_.Fill(kOther, 7, 1, 8192);
  ApplyScale(footprint, {kOther + 512, 2, 1000});

  EXPECT_TRUE(store_.IsKnown(kOther, 512));
  EXPECT_FALSE(store_.HasKnown(kOther + 512, kOther + 512 + 4000));
  EXPECT_TRUE(store_.IsKnown(kOther + 512 + 4000, 8192 - 4512));
}

TEST_F(FootprintTest, ALargeLaunchChangesAllBetweenItsFirstBlocksAndItsLast) {
  const std::uint32_t count = 250'000;
  const Footprint footprint = LearnScale({kFootprintBuffer, 2, count}, false);
  // Unknown at the pointer, known behind it.
  store_.Fill(kFootprintBuffer + 4096, 7, 1, 4096);
  store_.Fill(kFootprintBuffer + 500'000, 7, 1, 64);
  store_.Fill(kFootprintBuffer + 4 * count, 7, 1, 64);
  ApplyScale(footprint, {kFootprintBuffer, 2, count});

  EXPECT_FALSE(store_.HasKnown(kFootprintBuffer, kFootprintBuffer + 4 * count));
  EXPECT_TRUE(store_.IsKnown(kFootprintBuffer + 4 * count, 64));
}

TEST_F(FootprintTest, ValuesThatAKernelUpdatesReadAsThePolicySays) {
  const ScaleParameters parameters{kFootprintBuffer, 2, 4};
  store_.Fill(kFootprintBuffer, 7, 1, 17);
  ApplyScale(LearnScale(parameters, true), parameters);
  unsigned char bytes[2] = {};

  EXPECT_EQ(store_.Read(kFootprintBuffer + 15, bytes, 2, 1), 1u);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[1], 7);
}

TEST_F(FootprintTest, AStoreThatValuesMoveChangesItsBufferFromEndToEnd) {
  const std::vector<std::uint64_t> pointers = {kFootprintBuffer + 4096, kOther};
  store_.Fill(kFootprintBuffer, 7, 1, 64);
  store_.Fill(kOther, 7, 1, 64);
  ApplyTo(LearnOf("scatter", pointers), pointers);

  EXPECT_FALSE(store_.HasKnown(kFootprintBuffer, kFootprintBuffer + kBufferBytes));
  EXPECT_TRUE(store_.IsKnown(kOther, 64));
}

TEST_F(FootprintTest, AStoreThatNoMadeUpValueBroughtAboutChangesItsBufferFromEndToEnd) {
  const std::vector<std::uint64_t> pointers = {kFootprintBuffer, kFootprintBuffer + 4096, kOther};
  store_.Fill(kFootprintBuffer + 8192, 7, 1, 64);
  store_.Fill(kOther + 8192, 7, 1, 64);
  ApplyTo(LearnOf("mark", pointers), pointers);

  EXPECT_TRUE(store_.IsKnown(kFootprintBuffer + 8192, 64));
  EXPECT_FALSE(store_.HasKnown(kOther, kOther + kBufferBytes));
}

TEST_F(FootprintTest, ValuesThatOnlyChooseTheWayToAResultDoNotBlurIt) {
  const std::vector<std::uint64_t> pointers = {kFootprintBuffer, kFootprintBuffer + 4096, kOther};
  store_.Fill(kOther, 7, 1, 512);
  ApplyTo(LearnOf("divide", pointers), pointers);

  EXPECT_FALSE(store_.HasKnown(kOther, kOther + 128));
  EXPECT_TRUE(store_.IsKnown(kOther + 128, 384));
}

TEST_F(FootprintTest, WhatAFreedBufferHeldIsLookedForEverywhere) {
  const std::uint64_t freed = kFootprintBuffer + 2 * kBufferBytes;
  store_.Fill(kOther, 7, 1, 64);
  ApplyTo(LearnOf("scatter", {freed, kFootprintBuffer}), {freed, kFootprintBuffer});

  EXPECT_FALSE(store_.HasKnown(kOther, kOther + 64));
}

TEST_F(FootprintTest, ATableOfPointersThatNobodyKnowsMayLeadAnywhere) {
  // Nothing is known near the only pointer of the launch.
  const std::vector<std::uint64_t> pointers = {kFootprintBuffer};
  store_.Fill(kOther, 7, 1, 64);
  const Footprint footprint = LearnOf("through_table", pointers);
  ApplyTo(footprint, pointers);

  EXPECT_TRUE(footprint.everything);
  EXPECT_FALSE(store_.HasKnown(kOther, kOther + 64));
}

TEST_F(FootprintTest, AVariableThatAKernelUpdatesIsUnknownThen) {
  const std::vector<std::uint64_t> pointers = {kFootprintBuffer};
  const Footprint footprint = LearnOf("count", pointers);

  ASSERT_EQ(footprint.variables.size(), 1u);
  EXPECT_EQ(footprint.variables.front().second - footprint.variables.front().first, 4u);
}

TEST_F(FootprintTest, WritesThroughPointersFromMemoryMayBeAnywhere) {
  // bulk stores a word of its parameters through another one; here that one is not a pointer.
  struct {
    std::uint64_t lists[525] = {};
    std::uint64_t tail = 0;
  } parameters;
  const auto bytes = std::as_bytes(std::span(&parameters, 1));
  const MachineCode& code =
      FindMachineCode(gpu::SampleFatBinary().data(), "_Z4bulkPN3foo3BarE", {9, 0}, store_);
  const Footprint footprint =
      Learn(*code.program, {.grid = {1, 1, 1}, .block = {128, 1, 1}, .parameters = bytes}, true);

  EXPECT_TRUE(footprint.everything);
}

TEST_F(FootprintTest, NothingIsLookedUpWhereNothingIsKnownOrWritten) {
  const std::vector<std::uint64_t> addresses = {kFootprintBuffer, kOther};
  const LaunchPointers pointers(std::as_bytes(std::span(addresses)), kFootprintArena);
  const MachineCode& code = FindMachineCode(gpu::StoresCubin().data(), "scatter", {9, 0}, store_);
  const Stores stores = interpret::FindStores(*code.program, pointers.Places());
  const std::vector<std::uint32_t> written = WrittenPointers(stores, 2);
  BarrenBuffers barren;
  store_.Fill(kOther, 7, 1, 64);  // Only read.
  EXPECT_FALSE(HasKnownNear(written, pointers, kFootprintArena, store_, barren));
  EXPECT_FALSE(HasKnownNear(written, pointers, kFootprintArena, store_, barren));

  store_.Fill(kFootprintBuffer + kBufferBytes - 1, 7, 1, 1);
  EXPECT_TRUE(HasKnownNear(written, pointers, kFootprintArena, store_, barren));
}

TEST(BarrenBuffersTest, ABufferIsAskedForAgainWhenMemoryOrWhatIsKnownChanged) {
  static std::uint64_t version = 1;
  static std::uint64_t size = 4096;
  static int asked = 0;
  constexpr Arena arena{.find_buffer = [](std::uint64_t) -> std::optional<Arena::Range> {
                          ++asked;
                          return Arena::Range(kFootprintBuffer, kFootprintBuffer + size);
                        },
                        .version = [] { return version; }};
  value::Store store;
  BarrenBuffers barren;
  EXPECT_TRUE(barren.IsBarren(kFootprintBuffer + 8, arena, store));
  EXPECT_TRUE(barren.IsBarren(kFootprintBuffer + 16, arena, store));
  EXPECT_EQ(asked, 1);

  // The write lies behind the buffer, which then grows.
  store.Fill(kFootprintBuffer + 4096, 7, 1, 1);
  EXPECT_TRUE(barren.IsBarren(kFootprintBuffer + 8, arena, store));
  size = 8192;
  ++version;
  EXPECT_FALSE(barren.IsBarren(kFootprintBuffer + 8, arena, store));
  store.MakeStale(kFootprintBuffer, kFootprintBuffer + size);
  EXPECT_TRUE(barren.IsBarren(kFootprintBuffer + 8, arena, store));

  store.Fill(kFootprintBuffer, 7, 1, 1);
  EXPECT_FALSE(barren.IsBarren(kFootprintBuffer + 8, arena, store));
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace eidolon::shim::compute
