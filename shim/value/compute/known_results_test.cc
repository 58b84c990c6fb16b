#include "shim/value/compute/known_results.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;

constexpr std::uint64_t kResultsInput = 0x6b0100000000;
constexpr std::uint64_t kResultsOutput = kResultsInput + (std::uint64_t{1} << 20);
constexpr Arena kResultsArena{
    .holds = [](std::uint64_t a) { return a - kResultsInput < (std::uint64_t{1} << 24); },
    .find_buffer = [](std::uint64_t) -> std::optional<Arena::Range> { return std::nullopt; }};

// A kernel that reads `read` bytes of the input and writes as many as `written` has.
class KnownResultsTest : public testing::Test {
 protected:
  KnownResultsTest() {
    std::vector<unsigned char> input(2 * kPageBytes, 7);
    store_.Write(kResultsInput, input.data(), input.size());
  }

  void Run(KnownResults& results, const interpret::Launch& launch, std::size_t read,
           const std::vector<unsigned char>& written) {
    PageMemory memory(store_, kResultsArena, stock_);
    for (std::size_t i = 0; i < read; ++i) {
      interpret::Page& page = *memory.FindPage((kResultsInput + i) / kPageBytes);
      page.read[i % kPageBytes / 64] |= std::uint64_t{1} << i % 64;
    }
    for (std::size_t i = 0; i < written.size(); ++i) {
      interpret::Page& page = *memory.FindPage((kResultsOutput + i) / kPageBytes);
      page.bytes[i % kPageBytes] = static_cast<std::byte>(written[i]);
      page.written[i % kPageBytes / 64] |= std::uint64_t{1} << i % 64;
    }
    results.Note(program_, launch, memory, store_);
    memory.Commit(store_);
  }
  std::vector<unsigned char> Output(std::size_t size) const {
    std::vector<unsigned char> bytes(size);
    EXPECT_EQ(store_.Read(kResultsOutput, bytes.data(), size), 0u);
    return bytes;
  }

  static constexpr std::array<std::byte, 4> kParameters = {std::byte{1}};
  const interpret::Launch launch_{
      .grid = {4, 1, 1}, .block = {32, 1, 1}, .parameters = kParameters};
  const interpret::Program program_;
  value::Store store_;
  PageStock stock_;
};

TEST_F(KnownResultsTest, TheSameLaunchWritesTheSameAgain) {
  const std::vector<unsigned char> written(kPageBytes + 10, 3);
  KnownResults results;
  Run(results, launch_, kPageBytes + 1, written);
  store_.Forget(kResultsOutput, written.size());

  EXPECT_TRUE(results.Repeat(program_, launch_, store_));
  EXPECT_EQ(Output(written.size()), written);
  EXPECT_FALSE(store_.IsKnown(kResultsOutput + written.size(), 1));
}

TEST_F(KnownResultsTest, ALaunchThatReadsOtherBytesIsRun) {
  KnownResults results;
  Run(results, launch_, 100, {1, 2, 3});
  const unsigned char changed = 8;
  store_.Write(kResultsInput + 100, &changed, 1);
  EXPECT_TRUE(results.Repeat(program_, launch_, store_)) << "it does not read this byte";

  store_.Write(kResultsInput + 99, &changed, 1);
  EXPECT_FALSE(results.Repeat(program_, launch_, store_));
}

TEST_F(KnownResultsTest, ALaunchWhoseInputIsUnknownNowIsRun) {
  KnownResults results;
  Run(results, launch_, 100, {1, 2, 3});
  store_.Forget(kResultsInput + 50, 1);
  EXPECT_FALSE(results.Repeat(program_, launch_, store_));
}

TEST_F(KnownResultsTest, LaunchesOfOtherShapesParametersAndCodeAreRun) {
  KnownResults results;
  Run(results, launch_, 100, {1, 2, 3});
  interpret::Launch other = launch_;
  other.grid.y = 2;
  EXPECT_FALSE(results.Repeat(program_, other, store_));
  other = launch_;
  other.dynamic_shared_bytes = 16;
  EXPECT_FALSE(results.Repeat(program_, other, store_));
  static constexpr std::array<std::byte, 4> kOthers = {std::byte{2}};
  other = launch_;
  other.parameters = kOthers;
  EXPECT_FALSE(results.Repeat(program_, other, store_));
  const interpret::Program same_words;
  EXPECT_FALSE(results.Repeat(same_words, launch_, store_));
  EXPECT_TRUE(results.Repeat(program_, launch_, store_));
}

TEST_F(KnownResultsTest, OfALaunchTheLastInputsCount) {
  KnownResults results;
  const auto give = [&](unsigned char input) { store_.Write(kResultsInput, &input, 1); };
  for (unsigned char input = 0; input < 3; ++input) {
    give(input);
    Run(results, launch_, 100, {input});
  }
  give(1);
  EXPECT_TRUE(results.Repeat(program_, launch_, store_));
  EXPECT_EQ(Output(1), std::vector<unsigned char>{1});
  give(0);
  EXPECT_FALSE(results.Repeat(program_, launch_, store_));
}

TEST_F(KnownResultsTest, WhatReadUnknownBytesIsNotKept) {
  store_.Forget(kResultsInput + 50, 1);
  KnownResults results;
  Run(results, launch_, 100, {1, 2, 3});
  EXPECT_EQ(results.kept_bytes(), 0u);
}

TEST_F(KnownResultsTest, WhatWasNotUsedForLongestGivesWay) {
  const std::vector<unsigned char> written(1000, 3);
  KnownResults results(3 * 2500);  // Three of them, with what finding them takes.
  std::vector<std::array<std::byte, 4>> parameters(4);
  const auto launch = [&](std::size_t i) {
    parameters[i][0] = static_cast<std::byte>(i);
    interpret::Launch one = launch_;
    one.parameters = parameters[i];
    return one;
  };
  for (std::size_t i = 0; i < 3; ++i) Run(results, launch(i), 1000, written);
  EXPECT_TRUE(results.Repeat(program_, launch(0), store_));

  Run(results, launch(3), 1000, written);
  EXPECT_LE(results.kept_bytes(), 3u * 2500);
  EXPECT_TRUE(results.Repeat(program_, launch(0), store_));
  EXPECT_FALSE(results.Repeat(program_, launch(1), store_));
  EXPECT_TRUE(results.Repeat(program_, launch(3), store_));
}

}  // namespace
}  // namespace eidolon::shim::compute
