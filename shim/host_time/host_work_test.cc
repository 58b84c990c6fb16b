#include "shim/host_time/host_work.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000'000;
constexpr std::uint64_t kLaunch = 0x1000;

// One operator of a loop: `microseconds` of work, then a launch.
double Operator(HostWork& work, std::uint64_t microseconds, bool switched = false,
                double speed = 1.0) {
  const std::uint64_t cost = work.Before(kLaunch, microseconds * kMicrosecond, switched, speed);
  work.After(kLaunch, 7, false);
  return static_cast<double>(cost) / kMicrosecond;
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
    Operator(fast, 10, false, 1.0);
    Operator(slow, 20, false, 0.5);
  }
  EXPECT_NEAR(Operator(slow, 20, false, 0.5), Operator(fast, 10, false, 1.0), 0.1);
}

TEST(HostWorkTest, WhatFollowsASwitchTeachesNothing) {
  HostWork work;
  for (int i = 0; i < 100; ++i) Operator(work, 10);
  const double known = Operator(work, 10);

  // Caches are cold each time: three times the work, for all that is within a switch's reach.
  for (int i = 0; i < 100; ++i) Operator(work, 30, true);

  EXPECT_NEAR(Operator(work, 30, true), known, 0.1);
}

TEST(HostWorkTest, ASwitchWithinACallDisturbsWhatFollowsIt) {
  HostWork work;
  for (int i = 0; i < 100; ++i) Operator(work, 10);
  const double known = Operator(work, 10);

  for (int i = 0; i < 100; ++i) {
    work.Before(kLaunch, 30 * kMicrosecond, false, 1.0);
    work.After(kLaunch, 7, true);
  }
  EXPECT_NEAR(Operator(work, 30), known, 0.1);
}

}  // namespace
}  // namespace eidolon::shim::host_time
