#include "shim/host_time/host_work.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kWorkMicrosecond = 1'000'000;
constexpr std::uint64_t kWorkLaunch = 0x1000;

// One operator of a loop: `microseconds` of work, then a launch.
double Operator(HostWork& work, std::uint64_t microseconds, double speed = 1.0) {
  const std::uint64_t cost = work.Before(kWorkLaunch, microseconds * kWorkMicrosecond, 0, speed);
  work.After(kWorkLaunch, 7);
  return static_cast<double>(cost) / kWorkMicrosecond;
}

TEST(HostWorkTest, ALoopsOperatorCostsTheSameEachTimeOnceItIsKnown) {
  HostWork work;
  for (int i = 0; i < 100; ++i) Operator(work, 10 + i % 2);

  const double known = Operator(work, 10);
  EXPECT_NEAR(known, 10 * GapCosts::kOverLow, 1);
  EXPECT_DOUBLE_EQ(Operator(work, 30), known);
}

TEST(HostWorkTest, ASlowCoreAndAFastOneGiveTheSameCost) {
  HostWork fast, slow;
  for (int i = 0; i < 100; ++i) {
    Operator(fast, 10, 1.0);
    Operator(slow, 20, 0.5);
  }
  EXPECT_NEAR(Operator(slow, 20, 0.5), Operator(fast, 10, 1.0), 0.1);
}

TEST(HostWorkTest, AThirdOfTheTimesWithColdCachesChangesLittle) {
  HostWork calm, disturbed;
  for (int i = 0; i < 300; ++i) {
    Operator(calm, 10 + i % 2);
    Operator(disturbed, i % 3 == 0 ? 30 : 10 + i % 2);
  }
  EXPECT_NEAR(Operator(disturbed, 10), Operator(calm, 10), 1);
}

}  // namespace
}  // namespace eidolon::shim::host_time
