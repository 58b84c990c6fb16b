// The counted host model: what a thread computes beyond its operators and functions.
#include <gtest/gtest.h>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/frame_count.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constexpr std::int64_t kCallPs = 1000;
constexpr std::int64_t kFramePs = 450'000;
constexpr std::int64_t kMillisecondPs = 1'000'000'000;

// Burns CPU time of this thread.
void Work(std::int64_t ns) {
  const std::int64_t end = ThreadCpuNs() + ns;
  while (ThreadCpuNs() < end) {
  }
}

class CountedClockTest : public ::testing::Test {
 protected:
  CountedClockTest() {
    FakeAgent::Start(
        {.host_model = ring::HostModel::kCounted, .cost_ps = kCallPs, .frame_ps = kFramePs});
    EXPECT_NE(Session::Get(), nullptr);
    CostOfCall();
    // A long stretch takes the page faults of all before it, and starting meets many.
    Work(5'000'000);
    Enter("start", ring::CallClass::kLaunch, -1, [] { return 0; });
  }
  static std::int64_t CostOfCall() {
    const auto before = Now();
    return CostOfCallSince(before);
  }
  static std::int64_t CostOfCallSince(base::SimTime before) {
    Enter("x", ring::CallClass::kLaunch, -1, [] { return 0; });
    return (Now() - before).ps;
  }
};

TEST_F(CountedClockTest, ShortWorkCostsWhatItsFunctionsDoHoweverLongItTookHere) {
  const auto before = Now();
  Work(700'000);
  internal::frame_count.ran += 10;
  EXPECT_EQ(CostOfCallSince(before), kCallPs + 10 * kFramePs);
}

TEST_F(CountedClockTest, ComputingForLongerThanFunctionsDoCostsWhatItTook) {
  const auto before = Now();
  Work(20'000'000);
  internal::frame_count.ran += 10;
  const std::int64_t passed = CostOfCallSince(before);
  EXPECT_GE(passed, 19 * kMillisecondPs);
  EXPECT_LE(passed, 40 * kMillisecondPs);
}

TEST_F(CountedClockTest, ManyFunctionsStandForLongWork) {
  const auto before = Now();
  Work(20'000'000);
  internal::frame_count.ran += 20'000;  // 9 ms: not so far from what it took.
  EXPECT_EQ(CostOfCallSince(before), kCallPs + 20'000 * kFramePs);
}

TEST_F(CountedClockTest, WhatInterruptsWorkThatIsShortElseCostsTimeOnlyIfItIsLong) {
  const auto last_of_many = [](std::int64_t work_ns) {
    for (int i = 0; i < 60; ++i) CostOfCall();
    const auto before = Now();
    Work(work_ns);
    return CostOfCallSince(before);
  };
  EXPECT_EQ(last_of_many(0), kCallPs);
  EXPECT_EQ(last_of_many(8'000'000), kCallPs);
  EXPECT_GE(last_of_many(50'000'000), 45 * kMillisecondPs);
}

TEST_F(CountedClockTest, AProgramThatTimesItsOwnComputingFindsIt) {
  const auto before = Now();
  Work(20'000'000);
  EXPECT_GE((Now() - before).ps, 19 * kMillisecondPs);
  // And pays for it once.
  EXPECT_EQ(CostOfCall(), kCallPs);
}

TEST_F(CountedClockTest, SleepingAndTimeWithinCallsAreNotComputing) {
  const auto before = Now();
  RealSleep(30'000'000);
  Enter("y", ring::CallClass::kLaunch, -1, [] {
    Work(20'000'000);
    return 0;
  });
  EXPECT_EQ(CostOfCallSince(before), 2 * kCallPs);
}

}  // namespace
}  // namespace eidolon::shim::core
