#include "services/agent/clock/horizon.h"

#include <gtest/gtest.h>

#include "services/agent/clock/host_costs.h"

namespace eidolon::agent::clock {
namespace {

using base::SimTime;

TEST(HorizonTest, IsTheLeastClockOfRunningRanks) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.AddRank(1, {50});

  EXPECT_EQ(horizon.LowerBound(), SimTime{50});
  horizon.SetClock(1, {200});
  EXPECT_EQ(horizon.LowerBound(), SimTime{100});
  horizon.SetClock(1, {20});
  EXPECT_EQ(horizon.LowerBound(), SimTime{100}) << "clocks never step back";
}

TEST(HorizonTest, AMissingRankHoldsEverythingBack) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.SetMissing(1);

  EXPECT_EQ(horizon.LowerBound(), SimTime{0});
}

TEST(HorizonTest, ARankThatWaitsForTheNetworkDoesNotHoldItBack) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.AddRank(1, {50});

  horizon.BeginNetworkWait(1, 3, {60});
  EXPECT_EQ(horizon.LowerBound(), SimTime{100});
  EXPECT_TRUE(horizon.HasNetworkWait());
  EXPECT_FALSE(horizon.EveryRankWaits());

  horizon.EndWait(1, 3);
  EXPECT_EQ(horizon.LowerBound(), SimTime{50});
}

TEST(HorizonTest, WhatAWaitTakesAtLeastCountsForTheOwnBound) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.AddRank(1, {50});
  EXPECT_EQ(horizon.OwnBound(1), SimTime{50});

  horizon.BeginNetworkWait(1, 3, {70});
  EXPECT_EQ(horizon.OwnBound(1), SimTime{70});
  horizon.RaiseNetworkWait(1, 3, {60});
  EXPECT_EQ(horizon.OwnBound(1), SimTime{70}) << "bounds grow only";
  horizon.RaiseNetworkWait(1, 3, {130});
  EXPECT_EQ(horizon.OwnBound(1), SimTime{130});
  EXPECT_EQ(horizon.OwnBound(0), SimTime{100}) << "of the other rank, which runs";

  horizon.BeginMomentWait(0, 1, {110});
  horizon.RaiseNetworkWait(0, 1, {900});
  EXPECT_EQ(horizon.OwnBound(0), SimTime{110}) << "a question about a moment does not wait";
  horizon.BeginValueWait(1, 4);
  EXPECT_EQ(horizon.OwnBound(1), SimTime{50}) << "values may come at once";
  EXPECT_EQ(horizon.begun(), 2u);
}

TEST(HorizonTest, AQuestionAboutAMomentCountsAsThatMoment) {
  Horizon horizon;
  horizon.AddRank(0, {100});

  horizon.BeginMomentWait(0, 1, {700});

  EXPECT_EQ(horizon.LowerBound(), SimTime{700});
  EXPECT_EQ(horizon.Wanted(), SimTime{700});
  EXPECT_FALSE(horizon.StandsForValues());
  EXPECT_TRUE(horizon.EveryRankWaits());
}

TEST(HorizonTest, ARankThatWaitsForValuesIsPassedOverWhenNothingMoves) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.AddRank(1, {50});
  horizon.BeginMomentWait(0, 1, {700});

  horizon.BeginValueWait(1, 3);
  EXPECT_EQ(horizon.LowerBound(), SimTime{50}) << "it goes on from there when it has them";
  EXPECT_TRUE(horizon.StandsForValues());

  horizon.PassOverValueWaits();
  EXPECT_EQ(horizon.LowerBound(), SimTime{700});
  EXPECT_TRUE(horizon.EndWait(1, 3));
  EXPECT_EQ(horizon.LowerBound(), SimTime{50});

  horizon.BeginValueWait(1, 3);
  EXPECT_EQ(horizon.LowerBound(), SimTime{50}) << "of the next wait nothing is known";
  EXPECT_FALSE(horizon.EndWait(1, 3));
}

TEST(HorizonTest, NobodyLeftPromisesEverything) {
  Horizon horizon;
  horizon.AddRank(0, {100});
  horizon.RemoveRank(0);

  EXPECT_EQ(horizon.LowerBound(), SimTime::Max());
}

TEST(HostCostsTest, EveryClassCostsSomethingButThreadState) {
  const ::eidolon::ring::HostCosts costs = FixedHostCosts(1.0);
  for (int call = 0; call < static_cast<int>(::eidolon::ring::CallClass::kCount); ++call) {
    const bool is_free = call == static_cast<int>(::eidolon::ring::CallClass::kThreadState);
    EXPECT_EQ(costs.ps[call] == 0, is_free) << call;
  }
}

TEST(HostCostsTest, ASlowerProcessorTakesLongerForEveryCall) {
  const ::eidolon::ring::HostCosts fast = FixedHostCosts(1.0);
  const ::eidolon::ring::HostCosts slow = FixedHostCosts(0.5);
  for (int call = 0; call < static_cast<int>(::eidolon::ring::CallClass::kCount); ++call) {
    EXPECT_EQ(slow.ps[call], 2 * fast.ps[call]) << call;
  }
}

TEST(HostCostsTest, TheDriverAloneTakesLessThanTheFrameworkWithIt) {
  const ::eidolon::ring::HostCosts driver = DriverHostCosts(1.0);
  const ::eidolon::ring::HostCosts all = FixedHostCosts(1.0);
  for (int call = 0; call < static_cast<int>(::eidolon::ring::CallClass::kCount); ++call) {
    EXPECT_LE(driver.ps[call], all.ps[call]) << call;
  }
  EXPECT_GT(driver.ps[static_cast<int>(::eidolon::ring::CallClass::kLaunch)], 2'000'000u);
}

}  // namespace
}  // namespace eidolon::agent::clock
