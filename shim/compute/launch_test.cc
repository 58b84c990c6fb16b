#include "shim/compute/launch.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "services/ring/work.h"
#include "services/workload/pointer_tag.h"
#include "shim/gpu/module/sample.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kLaunchBuffer = 0x6b0100000000;
constexpr std::uint64_t kLaunchBufferBytes = 1 << 20;
constexpr std::uint64_t kOtherBuffer = kLaunchBuffer + (std::uint64_t{1} << 30);

constexpr Arena kLaunchArena{
    .holds = [](std::uint64_t a) { return a - kLaunchBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a / kLaunchBufferBytes * kLaunchBufferBytes;
      return Arena::Range(begin, begin + kLaunchBufferBytes);
    },
    .version = [] { return std::uint64_t{1}; }};

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() { value::ProcessStore().MakeStale(0, ~std::uint64_t{0}); }

  // One block of 32 threads.
  static void Launch(std::string_view kernel, const std::vector<std::uint64_t>& pointers) {
    static std::uint32_t work = 0;
    const auto bytes = std::as_bytes(std::span(pointers));
    Record({.image = gpu::StoresCubin().data(), .name = kernel},
           {.grid = {1, 1, 1}, .block = {32, 1, 1}}, ++work,
           {.block = bytes, .pointers = LaunchPointers(bytes, kLaunchArena).list}, kLaunchArena);
  }
  static void Know(std::uint64_t address, std::size_t bytes) {
    value::ProcessPending().Fill(address, 1, 1, bytes);
  }
  static bool IsKnown(std::uint64_t address, std::size_t bytes) {
    return value::ProcessPending().IsKnown(address, bytes);
  }
};

TEST_F(LaunchTest, OfAKernelThatJoinsTensorsTheThreadsOfOneCount) {
  const RecordedShape join{.grid = {264, 40, 1}, .block = {512, 1, 1}};

  EXPECT_FALSE(IsSmall(join));
  EXPECT_TRUE(IsSmall(OneRow(join)));
  EXPECT_FALSE(IsSmall(OneRow({.grid = {2640, 1, 1}, .block = {512, 1, 1}})));
}

TEST_F(LaunchTest, WritesThroughATableThatNobodyKnowsMakeEverythingUnknown) {
  Know(kOtherBuffer, 64);  // Nothing is known near the table.
  Launch("through_table", {kLaunchBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 1));
}

TEST_F(LaunchTest, WritesThroughATableThatIsKnownChangeWhatItNames) {
  std::vector<std::uint64_t> table(32);
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = kOtherBuffer + 4 * i;
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8 * table.size());
  Know(kOtherBuffer + 4096, 64);
  Launch("through_table", {kLaunchBuffer});

  EXPECT_TRUE(IsKnown(kOtherBuffer + 4096, 64));
  EXPECT_TRUE(IsKnown(kOtherBuffer, 128));
  std::uint32_t last = 0;
  value::ProcessStore().Read(kOtherBuffer + 124, &last, 4);
  EXPECT_EQ(last, 31u);
}

TEST_F(LaunchTest, PointersThatAreBlankedInTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kBlanked = {workload::kPointerTag};
  const std::array<std::uint64_t, 2> table = {kOtherBuffer, 0};
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8);
  const std::array<PointerWord, 1> pointers = {{{0, kLaunchBuffer}}};
  // One thread: it reads one entry.
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1000,
         {.block = std::as_bytes(std::span(kBlanked)), .pointers = pointers, .block_stays = true},
         kLaunchArena);

  EXPECT_TRUE(IsKnown(kOtherBuffer, 4));
  EXPECT_FALSE(IsKnown(kOtherBuffer + 4, 1));
}

TEST_F(LaunchTest, NumbersThatWereTakenOutOfTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kNothing = {0};
  const std::array<std::uint64_t, 2> table = {kOtherBuffer, 0};
  value::ProcessPending().Write(kLaunchBuffer, table.data(), 8);
  const std::array<NumberWord, 2> halves = {{{0, static_cast<std::uint32_t>(kLaunchBuffer)},
                                             {4, static_cast<std::uint32_t>(kLaunchBuffer >> 32)}}};
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1001,
         {.block = std::as_bytes(std::span(kNothing)), .numbers = halves, .block_stays = true},
         kLaunchArena);

  EXPECT_TRUE(IsKnown(kOtherBuffer, 4));
}

TEST_F(LaunchTest, WhatAKernelOnlyReadsStaysKnown) {
  Know(kOtherBuffer, 64);
  Launch("scatter", {kLaunchBuffer, kOtherBuffer});  // Its indices end after the first eight.

  EXPECT_TRUE(IsKnown(kOtherBuffer, 64));
}

TEST_F(LaunchTest, AFlagThatUnknownValuesMayRaiseIsUnknown) {
  Know(kOtherBuffer, 4);
  Launch("mark", {kLaunchBuffer, kLaunchBuffer + 4096, kOtherBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 4));
}

TEST_F(LaunchTest, AKernelWhoseCodeIsMissingMayWriteAnywhere) {
  Know(kOtherBuffer, 64);
  Launch("absent", {kLaunchBuffer});

  EXPECT_FALSE(IsKnown(kOtherBuffer, 1));
}

}  // namespace
}  // namespace eidolon::shim::compute
