#include "services/machine_code/interpret/idle_warps.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

// Effects of a launch of 1,024 threads on memory of ones, and its result.
struct Effects {
  Outcome outcome;
  std::vector<float> numbers;
  std::vector<std::uint8_t> words_read;
  PageBits written{};
};

class IdleWarpsTest : public testing::Test {
 protected:
  Effects Launch(std::uint32_t count, IdleWarps* idle, float factor = 3,
                 std::uint64_t steps = 4000) {
    BufferMemory memory(1);
    for (int i = 0; i < 1024; ++i) memory.At<float>(i) = 1;
    const ScaleParameters parameters{.factor = factor, .count = count};
    Effects effects;
    interpret::Launch launch = ScaleLaunch(parameters);
    launch.words_read = &effects.words_read;
    launch.idle = idle;
    effects.outcome = interpret::Run(program_, launch, memory, {.warp_steps = steps}, workspace_);
    for (int i = 0; i < 1024; ++i) effects.numbers.push_back(memory.At<float>(i));
    effects.written = memory.page(0).written;
    return effects;
  }

  // The warps that would not run.
  static std::uint64_t Known(IdleWarps& idle, std::uint32_t count, float factor = 3) {
    const ScaleParameters parameters{.factor = factor, .count = count};
    const IdleMemo* memo = idle.Find(ScaleLaunch(parameters).parameters);
    return memo == nullptr ? 0 : memo->warps;
  }

  static void ExpectSame(const Effects& a, const Effects& b) {
    EXPECT_EQ(a.outcome.stop, b.outcome.stop);
    EXPECT_EQ(a.outcome.lane_steps, b.outcome.lane_steps);
    EXPECT_EQ(a.numbers, b.numbers);
    EXPECT_EQ(a.words_read, b.words_read);
    EXPECT_EQ(a.written, b.written);
  }

  Program program_ = LoadKernel("scale");
  Workspace workspace_;
};

TEST_F(IdleWarpsTest, ALaunchIsTheSameWithoutTheWarpsThatHaveNothingToDo) {
  for (const std::uint32_t count : {0u, 10u, 33u, 200u, 1000u, 1024u}) {
    IdleWarps idle;
    const Effects all = Launch(count, nullptr);

    ExpectSame(Launch(count, &idle), all);
    const std::uint32_t busy = (count + 31) / 32;
    EXPECT_EQ(Known(idle, count), 0xffffffffu & ~((std::uint64_t{1} << busy) - 1)) << count;
    ExpectSame(Launch(count, &idle), all);
  }
}

TEST_F(IdleWarpsTest, OnlyWordsThatIdleWarpsReadMatter) {
  IdleWarps idle;
  Launch(10, &idle);

  // The factor is loaded by warps that have something to do.
  EXPECT_EQ(Known(idle, 10, 5), 0xfffffffeu);
  ExpectSame(Launch(10, &idle, 5), Launch(10, nullptr, 5));
  EXPECT_EQ(Known(idle, 700), 0u);
  ExpectSame(Launch(700, &idle), Launch(700, nullptr));
}

TEST_F(IdleWarpsTest, AMemoIsForParametersOfOneSize) {
  IdleWarps idle;
  idle.Add({.warps = 2, .parameter_bytes = 16});

  const std::vector<std::byte> parameters(24);
  EXPECT_EQ(idle.Find(parameters), nullptr);
  EXPECT_NE(idle.Find(std::span(parameters).first(16)), nullptr);
}

TEST_F(IdleWarpsTest, WarpsThatDoNotRunCountForTheLimit) {
  IdleWarps idle;
  Launch(10, &idle);
  ASSERT_NE(Known(idle, 10), 0u);

  EXPECT_EQ(Launch(10, &idle, 3, 100).outcome.stop, Stop::kLimit);
  EXPECT_EQ(Launch(10, nullptr, 3, 100).outcome.stop, Stop::kLimit);
}

TEST_F(IdleWarpsTest, WarpsThatMeetAtBarriersAllRun) {
  IdleWarps idle;
  BufferMemory memory(1);
  std::vector<std::uint64_t> parameters(7);
  parameters[2] = parameters[6] = kBuffer;
  const Program tile = LoadKernel("tile");

  interpret::Run(
      tile,
      {.block = {64, 1, 1}, .parameters = std::as_bytes(std::span(parameters)), .idle = &idle},
      memory, {});

  EXPECT_FALSE(tile.warps_are_apart);
  EXPECT_EQ(idle.Find(std::as_bytes(std::span(parameters))), nullptr);
}

TEST_F(IdleWarpsTest, LaunchesWithoutIdleWarpsAreNotLookedAtForGood) {
  IdleWarps idle;
  for (int i = 0; i < 100 && idle.is_worth_learning(); ++i) Launch(1024, &idle);
  EXPECT_FALSE(idle.is_worth_learning());
}

}  // namespace
}  // namespace eidolon::interpret
