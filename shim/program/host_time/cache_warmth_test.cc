#include "shim/program/host_time/cache_warmth.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kWarmthMicrosecond = 1'000'000;
constexpr std::uint64_t kWarmthMillisecond = 1'000'000'000;

// Work of 3 us each from a switch on, for `run_us`, over and over. At first it takes `cold` times
// as long, and it is warm after 200 us.
void RunAfterSwitches(CacheWarmth& warmth, double cold, std::uint64_t run_us, int switches) {
  for (int i = 0; i < switches; ++i) {
    for (std::uint64_t since_us = 0; since_us < run_us; since_us += 3) {
      const double part = since_us < 200 ? 1 - static_cast<double>(since_us) / 200 : 0;
      const double slowdown = 1 + (cold - 1) * part;
      const auto work = static_cast<std::uint64_t>(3 * kWarmthMicrosecond * slowdown);
      warmth.Learn(since_us * kWarmthMicrosecond, work, 3 * kWarmthMicrosecond);
    }
  }
}

TEST(CacheWarmthTest, WhatASwitchCostsIsLearnedAndTakenOut) {
  CacheWarmth warmth;
  RunAfterSwitches(warmth, 3, 2000, 500);

  EXPECT_NEAR(warmth.Slowdown(2 * kWarmthMicrosecond), 2.97, 0.15);
  EXPECT_NEAR(warmth.Slowdown(100 * kWarmthMicrosecond), 2.0, 0.15);
  EXPECT_NEAR(warmth.Slowdown(300 * kWarmthMicrosecond), 1.0, 0.05);
  EXPECT_NEAR(warmth.WarmWork(2 * kWarmthMicrosecond, 30 * kWarmthMicrosecond) / 1e6, 10.5, 1);
}

TEST(CacheWarmthTest, ARankWithACoreOfItsOwnLosesNothing) {
  CacheWarmth warmth;
  RunAfterSwitches(warmth, 1, 2000, 500);

  for (const std::uint64_t us : {1, 10, 100, 1000}) {
    EXPECT_NEAR(warmth.Slowdown(us * kWarmthMicrosecond), 1, 0.08) << us;
  }
}

// The quantiles that usual costs come from are lower than means, for all places alike.
TEST(CacheWarmthTest, UsualCostsThatAreAllTooLowChangeNothing) {
  CacheWarmth right, low;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t since = static_cast<std::uint64_t>(i % 300) * 4 * kWarmthMicrosecond;
    const std::uint64_t work =
        since < 100 * kWarmthMicrosecond ? 6 * kWarmthMicrosecond : 3 * kWarmthMicrosecond;
    right.Learn(since, work, 3 * kWarmthMicrosecond);
    low.Learn(since, work, 3 * kWarmthMicrosecond / 2);
  }
  EXPECT_NEAR(low.Slowdown(10 * kWarmthMicrosecond), right.Slowdown(10 * kWarmthMicrosecond), 0.05);
  EXPECT_NEAR(right.Slowdown(10 * kWarmthMicrosecond), 2, 0.1);
}

TEST(CacheWarmthTest, WhatIsNeverMetWarmIsTakenFromThePrior) {
  CacheWarmth warmth;
  RunAfterSwitches(warmth, 1, 60, 20'000);  // Every 60 us another switch, and no difference seen.

  EXPECT_GT(warmth.Slowdown(2 * kWarmthMicrosecond), 1.15);
  EXPECT_LT(warmth.Slowdown(2 * kWarmthMicrosecond), 1.9);
  EXPECT_NEAR(warmth.Slowdown(2 * kWarmthMicrosecond), warmth.Slowdown(50 * kWarmthMicrosecond),
              0.05);
}

TEST(CacheWarmthTest, ThePriorIsWhatCountsBeforeAnythingWasMet) {
  const CacheWarmth warmth;
  EXPECT_FLOAT_EQ(warmth.Slowdown(0), CacheWarmth::kPrior[0]);
  EXPECT_FLOAT_EQ(warmth.Slowdown(kWarmthMillisecond), 1);
  EXPECT_EQ(warmth.WarmWork(kWarmthMillisecond, 7 * kWarmthMicrosecond), 7 * kWarmthMicrosecond);
}

TEST(CacheWarmthTest, LongWorkWarmsItsCachesItself) {
  const CacheWarmth warmth;
  const std::uint64_t alone = warmth.WarmWork(0, 10 * kWarmthMillisecond);
  EXPECT_LT(alone, 10 * kWarmthMillisecond);
  EXPECT_GT(alone, 10 * kWarmthMillisecond - 200 * kWarmthMicrosecond);
  // The work comes in one piece or in many.
  std::uint64_t pieces = 0;
  for (std::uint64_t us = 0; us < 10'000; us += 5) {
    pieces += warmth.WarmWork(us * kWarmthMicrosecond, 5 * kWarmthMicrosecond);
  }
  EXPECT_NEAR(static_cast<double>(pieces), static_cast<double>(alone), 1e-3 * 1e10);
}

TEST(CacheWarmthTest, AMachineThatBecomesBusyIsFollowed) {
  CacheWarmth warmth;
  RunAfterSwitches(warmth, 1, 1000, 2000);
  RunAfterSwitches(warmth, 3, 1000, 2000);
  EXPECT_NEAR(warmth.Slowdown(2 * kWarmthMicrosecond), 2.97, 0.4);
}

TEST(CacheWarmthTest, WorkOfNoLengthIsHarmless) {
  CacheWarmth warmth;
  for (int i = 0; i < 10'000; ++i) warmth.Learn(0, 0, 0);
  for (std::uint64_t us = 0; us < 1000; us += 7) {
    EXPECT_GE(warmth.Slowdown(us * kWarmthMicrosecond), 1);
    EXPECT_LE(warmth.Slowdown(us * kWarmthMicrosecond), 6);
  }
  EXPECT_EQ(warmth.WarmWork(0, 0), 0u);
}

}  // namespace
}  // namespace eidolon::shim::host_time
