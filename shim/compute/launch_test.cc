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

constexpr std::uint64_t kBuffer = 0x6b0100000000;
constexpr std::uint64_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kOther = kBuffer + (std::uint64_t{1} << 30);

constexpr Arena kArena{
    .holds = [](std::uint64_t a) { return a - kBuffer < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a / kBufferBytes * kBufferBytes;
      return Arena::Range(begin, begin + kBufferBytes);
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
           {.block = bytes, .pointers = LaunchPointers(bytes, kArena).list}, kArena);
  }
  static void Know(std::uint64_t address, std::size_t bytes) {
    value::ProcessPending().Fill(address, 1, 1, bytes);
  }
  static bool IsKnown(std::uint64_t address, std::size_t bytes) {
    return value::ProcessPending().IsKnown(address, bytes);
  }
};

TEST_F(LaunchTest, WritesThroughATableThatNobodyKnowsMakeEverythingUnknown) {
  Know(kOther, 64);  // Nothing is known near the table.
  Launch("through_table", {kBuffer});

  EXPECT_FALSE(IsKnown(kOther, 1));
}

TEST_F(LaunchTest, WritesThroughATableThatIsKnownChangeWhatItNames) {
  std::vector<std::uint64_t> table(32);
  for (std::uint64_t i = 0; i < table.size(); ++i) table[i] = kOther + 4 * i;
  value::ProcessPending().Write(kBuffer, table.data(), 8 * table.size());
  Know(kOther + 4096, 64);
  Launch("through_table", {kBuffer});

  EXPECT_TRUE(IsKnown(kOther + 4096, 64));
  EXPECT_TRUE(IsKnown(kOther, 128));
  std::uint32_t last = 0;
  value::ProcessStore().Read(kOther + 124, &last, 4);
  EXPECT_EQ(last, 31u);
}

TEST_F(LaunchTest, PointersThatAreBlankedInTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kBlanked = {workload::kPointerTag};
  const std::array<std::uint64_t, 2> table = {kOther, 0};
  value::ProcessPending().Write(kBuffer, table.data(), 8);
  const std::array<PointerWord, 1> pointers = {{{0, kBuffer}}};
  // One thread: it reads one entry.
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1000,
         {.block = std::as_bytes(std::span(kBlanked)), .pointers = pointers, .block_stays = true},
         kArena);

  EXPECT_TRUE(IsKnown(kOther, 4));
  EXPECT_FALSE(IsKnown(kOther + 4, 1));
}

TEST_F(LaunchTest, NumbersThatWereTakenOutOfTheBlockAreThoseOfTheList) {
  static constexpr std::array<std::uint64_t, 1> kNothing = {0};
  const std::array<std::uint64_t, 2> table = {kOther, 0};
  value::ProcessPending().Write(kBuffer, table.data(), 8);
  const std::array<NumberWord, 2> halves = {
      {{0, static_cast<std::uint32_t>(kBuffer)}, {4, static_cast<std::uint32_t>(kBuffer >> 32)}}};
  Record({.image = gpu::StoresCubin().data(), .name = "through_table"},
         {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1001,
         {.block = std::as_bytes(std::span(kNothing)), .numbers = halves, .block_stays = true},
         kArena);

  EXPECT_TRUE(IsKnown(kOther, 4));
}

TEST_F(LaunchTest, WhatAKernelOnlyReadsStaysKnown) {
  Know(kOther, 64);
  Launch("scatter", {kBuffer, kOther});  // Its indices end after the first eight.

  EXPECT_TRUE(IsKnown(kOther, 64));
}

TEST_F(LaunchTest, AFlagThatUnknownValuesMayRaiseIsUnknown) {
  Know(kOther, 4);
  Launch("mark", {kBuffer, kBuffer + 4096, kOther});

  EXPECT_FALSE(IsKnown(kOther, 4));
}

TEST_F(LaunchTest, AKernelWhoseCodeIsMissingMayWriteAnywhere) {
  Know(kOther, 64);
  Launch("absent", {kBuffer});

  EXPECT_FALSE(IsKnown(kOther, 1));
}

}  // namespace
}  // namespace eidolon::shim::compute
