#include "shim/program/host_time/host_work.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kWorkMicrosecond = 1'000'000;
constexpr std::uint64_t kWorkLaunch = 0x1000;
constexpr std::uint64_t kWarm = 10'000'000'000;

// One operator of a loop: `microseconds` of work, then a launch.
double Operator(HostWork& work, std::uint64_t microseconds, double speed = 1.0) {
  const std::uint64_t cost = work.Before(
      kWorkLaunch, {.work_ps = microseconds * kWorkMicrosecond, .since_switch_ps = kWarm}, speed);
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

// Eight ranks on two cores wait for each other at each collective.
TEST(HostWorkTest, RanksThatWaitOftenAreChargedAsOneThatNeverWaits) {
  HostWork alone, crowded;
  const auto step = [](HostWork& work, std::uint64_t switch_every_us) {
    std::uint64_t since_us = 0, charged = 0;
    for (int launch = 0; launch < 500; ++launch) {
      const double cold = since_us < 400 ? 1.5 * (1 - static_cast<double>(since_us) / 400) : 0;
      const auto took = static_cast<std::uint64_t>(8 * kWorkMicrosecond * (1 + cold));
      charged += work.Before(
          kWorkLaunch, {.work_ps = took, .since_switch_ps = since_us * kWorkMicrosecond}, 1.0);
      work.After(kWorkLaunch, static_cast<std::uint64_t>(launch));
      since_us += took / kWorkMicrosecond;
      if (since_us > switch_every_us) since_us = 0;
    }
    return static_cast<double>(charged);
  };
  double of_alone = 0, of_crowded = 0;
  for (int i = 0; i < 60; ++i) {
    of_alone = step(alone, 1'000'000);
    // Collectives fall on the same launches in every step, but for a few.
    of_crowded = step(crowded, i % 12 == 0 ? 1'300 : 250);
  }
  EXPECT_NEAR(of_crowded / of_alone, 1, 0.1);
}

}  // namespace
}  // namespace eidolon::shim::host_time
