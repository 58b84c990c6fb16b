// Questions about bytes while the result of a collective is outstanding: whether a rank waits for
// it depends on what recorded work will leave there.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/gpu/module/sample.h"
#include "shim/value/compute/gemm.h"
#include "shim/value/compute/launch.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kResult = 0x6b0200000000;
constexpr std::uint64_t kInput = kResult + (1 << 20);
constexpr std::uint64_t kOutput = kResult + (2 << 20);

constexpr Arena kLookaheadArena{
    .holds = [](std::uint64_t a) { return a - kResult < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a >> 20 << 20;
      return Arena::Range(begin, begin + (1 << 20));
    },
    .version = [] { return std::uint64_t{1}; }};

class LookaheadTest : public testing::Test {
 protected:
  LookaheadTest()
      : pending_(store_, [](std::uint64_t, std::uint64_t, bool wait, std::vector<std::byte>*) {
          return wait ? value::Fetch::kReady : value::Fetch::kNotYet;
        }) {
    pending_.AwaitCollective(1, 0, kResult, 64);
  }

  // D = A B of single numbers; D is the output.
  void Multiply(std::uint64_t a, std::uint64_t b) {
    const auto number = [](std::uint64_t address) {
      return GemmMatrix{.address = address, .type = Element::kFloat, .leading = 1};
    };
    pending_.Defer(AsDeferred(Gemm{.m = 1,
                                   .n = 1,
                                   .k = 1,
                                   .a = number(a),
                                   .b = number(b),
                                   .c = number(kOutput),
                                   .d = number(kOutput),
                                   .alpha = {.real = 1}}));
  }
  // It marks its third buffer where its first one says so.
  void Mark() {
    const std::vector<std::uint64_t> pointers = {kInput, kInput + 4096, kOutput};
    const auto bytes = std::as_bytes(std::span(pointers));
    pending_.Defer(
        AsDeferred({.image = gpu::StoresCubin().data(), .name = "mark"},
                   {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 2000,
                   {.block = bytes, .pointers = LaunchPointers(bytes, kLookaheadArena).list},
                   kLookaheadArena));
  }
  bool IsOutstanding() const { return pending_.waiting() > 0; }
  // Dots when it was not read yet.
  std::string_view ReadAt(std::uint64_t address) {
    std::string& host = hosts_.emplace_back("....");
    pending_.Read(address, host.data(), host.size(), 'u', nullptr);
    return host;
  }

  value::Store store_;
  std::deque<std::string> hosts_;  // Reads that wait write there when the queue is drained.
  value::Pending pending_;
};

TEST_F(LookaheadTest, AGemmOfUnknownNumbersIsUnknownWhateverTheResult) {
  Multiply(kInput, kInput + 256);

  EXPECT_FALSE(pending_.IsKnown(kOutput, 4));
  EXPECT_TRUE(IsOutstanding());
}

TEST_F(LookaheadTest, AGemmOfTheResultIsWaitedFor) {
  Multiply(kResult, kResult);

  EXPECT_TRUE(pending_.IsKnown(kOutput, 4));
  EXPECT_FALSE(IsOutstanding());
}

TEST_F(LookaheadTest, WorkOnOtherBytesSaysNothing) {
  Multiply(kResult, kResult);

  EXPECT_FALSE(pending_.IsKnown(kOutput + 4, 4));
  EXPECT_TRUE(IsOutstanding());
}

TEST_F(LookaheadTest, AReadPassesAGemmThatWritesElsewhere) {
  pending_.Write(kInput, "seen", 4);
  Multiply(kInput, kInput + 256);

  EXPECT_EQ(ReadAt(kInput), "seen");
  EXPECT_EQ(ReadAt(kOutput + 2), "....");
}

TEST_F(LookaheadTest, AReadPassesALaunchThatWritesElsewhere) {
  pending_.Write(kInput, "seen", 4);
  Mark();

  EXPECT_EQ(ReadAt(kInput), "seen");
  EXPECT_EQ(ReadAt(kOutput), "....");
}

TEST_F(LookaheadTest, ALaunchIsForeseenOnceItHasMetAnUnknownInput) {
  Mark();
  EXPECT_FALSE(pending_.IsKnown(kOutput, 4));
  EXPECT_FALSE(IsOutstanding());  // Nobody knew yet what it reads.

  pending_.AwaitCollective(1, 1, kResult, 64);
  pending_.Fill(kOutput, 1, 1, 4);
  Mark();
  EXPECT_FALSE(pending_.IsKnown(kOutput, 4));
  EXPECT_TRUE(IsOutstanding());
}

TEST_F(LookaheadTest, ALaunchThatDoesNotWriteThereIsNotWaitedFor) {
  Mark();

  EXPECT_FALSE(pending_.IsKnown(kInput, 4));
  EXPECT_TRUE(IsOutstanding());
}

}  // namespace
}  // namespace eidolon::shim::compute
