#include "services/agent/server/network_time.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <limits>

namespace eidolon::agent::server {
namespace {

using base::SimTime;

TEST(NetworkTimeTest, ATimeBeyondAllTimeIsItsEnd) {
  EXPECT_EQ(TimeOf(std::numeric_limits<std::uint64_t>::max()), SimTime::Max());
  EXPECT_EQ(TimeOf(7), SimTime{7});
}

TEST(NetworkTimeTest, WhoIsLateIsMovedToTheSettledTimeAndCounted) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  NetworkTime time(&metrics);
  time.Settle(SimTime{500});
  time.Settle(SimTime{300});

  EXPECT_EQ(time.ClampReady(SimTime{500}), SimTime{500});
  EXPECT_EQ(time.clamped(), 0u);
  EXPECT_EQ(time.ClampReady(SimTime{499}), SimTime{500});
  EXPECT_EQ(time.clamped(), 1u);
  EXPECT_EQ(time.safe_through(), SimTime{});
}

TEST(NetworkTimeTest, WhatIsSafeIsSettled) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  NetworkTime time(&metrics);
  time.SetSafe(SimTime{800});
  time.SetSafe(SimTime{100});

  EXPECT_EQ(time.safe_through(), SimTime{800});
  EXPECT_EQ(time.ClampReady(SimTime{1}), SimTime{800});
}

TEST(HorizonClaimsTest, AClaimIsToldOnce) {
  HorizonClaims claims;
  const HorizonClaim claim{.bound = SimTime{100}, .processed = 1};

  EXPECT_TRUE(claims.Take(claim, 0));
  EXPECT_FALSE(claims.Take(claim, 1'000'000'000));
}

TEST(HorizonClaimsTest, AClockAloneIsToldEveryTwoMilliseconds) {
  HorizonClaims claims;
  ASSERT_TRUE(claims.Take({.bound = SimTime{100}, .processed = 1}, 0));

  EXPECT_FALSE(claims.Take({.bound = SimTime{200}, .processed = 1}, 1'999'999));
  EXPECT_TRUE(claims.Take({.bound = SimTime{300}, .processed = 2}, 1'999'999));
  EXPECT_TRUE(claims.Take({.bound = SimTime{400}, .processed = 2}, 3'999'999));
  EXPECT_TRUE(claims.Take({.bound = SimTime::Max(), .processed = 2}, 4'000'000));
}

TEST(HorizonClaimsTest, AUsedUpQuiescenceIsClaimedAnew) {
  HorizonClaims claims;
  const HorizonClaim claim{.bound = SimTime{100}, .quiescent = true};
  ASSERT_TRUE(claims.Take(claim, 0));
  claims.UseUp();

  EXPECT_TRUE(claims.Take(claim, 1));
}

}  // namespace
}  // namespace eidolon::agent::server
