#include "shim/program/host_time/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kJitterMicrosecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000 * kJitterMicrosecond;

Jitter::Options HundredASecond(bool exponential, std::uint64_t seed) {
  return {.per_second = 100,
          .length_ps = 250 * kJitterMicrosecond,
          .exponential = exponential,
          .seed = seed};
}

// The delays of a second of host work in calls of 5 us.
std::vector<std::uint64_t> DelaysOf(const Jitter::Options& options) {
  Jitter jitter(options);
  std::vector<std::uint64_t> delays;
  for (int call = 0; call < 200'000; ++call)
    delays.push_back(jitter.DelaysIn(5 * kJitterMicrosecond));
  return delays;
}

double MeanShare(bool exponential) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Jitter jitter(HundredASecond(exponential, seed));
    sum += static_cast<double>(jitter.DelaysIn(10 * kSecond)) / (10.0 * kSecond);
  }
  return sum / 50;
}

TEST(JitterTest, TheSameSeedGivesTheSameDelays) {
  EXPECT_EQ(DelaysOf(HundredASecond(true, 7)), DelaysOf(HundredASecond(true, 7)));
}

TEST(JitterTest, AnotherSeedGivesOthers) {
  EXPECT_NE(DelaysOf(HundredASecond(true, 7)), DelaysOf(HundredASecond(true, 8)));
}

TEST(JitterTest, DelaysDoNotDependOnHowWorkIsDividedIntoCalls) {
  Jitter whole(HundredASecond(true, 3));
  std::uint64_t sum = 0;
  for (const std::uint64_t delay : DelaysOf(HundredASecond(true, 3))) sum += delay;
  EXPECT_EQ(whole.DelaysIn(kSecond), sum);
}

TEST(JitterTest, TheirShareOfHostWorkIsRateTimesMeanLength) {
  EXPECT_NEAR(MeanShare(false), 0.025, 0.025 * 0.03);
  EXPECT_NEAR(MeanShare(true), 0.025, 0.025 * 0.03);
}

TEST(JitterTest, ConstantDelaysAreAllAlikeAndExponentialOnesAreNot) {
  std::uint64_t longest = 0;
  for (const std::uint64_t delay : DelaysOf(HundredASecond(false, 5))) {
    EXPECT_EQ(delay % (250 * kJitterMicrosecond), 0u);
  }
  for (const std::uint64_t delay : DelaysOf(HundredASecond(true, 5))) {
    longest = std::max(longest, delay);
  }
  EXPECT_GT(longest, 500 * kJitterMicrosecond);
}

TEST(JitterTest, DrawnNumbersAreExponential) {
  base::Random random(1);
  constexpr int kCount = 200'000;
  int beyond_one = 0, beyond_three = 0;
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    const double drawn = DrawExponential(random);
    sum += drawn;
    beyond_one += drawn > 1 ? 1 : 0;
    beyond_three += drawn > 3 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(beyond_one) / kCount, 0.36788, 0.005);
  EXPECT_NEAR(static_cast<double>(beyond_three) / kCount, 0.04979, 0.002);
}

}  // namespace
}  // namespace eidolon::shim::host_time
