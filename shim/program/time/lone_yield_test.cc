#include "shim/program/time/lone_yield.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& fake_agent = core::FakeAgent::Start();

TEST(LoneYieldTest, TheFirstOfARowStandsAlone) {
  LoneYield yields;

  EXPECT_TRUE(yields.IsFirst(0));
  EXPECT_FALSE(yields.IsFirst(2'000));
  EXPECT_FALSE(yields.IsFirst(40'000));
}

TEST(LoneYieldTest, AfterAPauseARowBeginsAgain) {
  LoneYield yields;
  yields.IsFirst(0);
  yields.IsFirst(1'000);

  EXPECT_TRUE(yields.IsFirst(60'000));
  EXPECT_FALSE(yields.IsFirst(61'000));
}

TEST(LoneYieldTest, AThreadThatSpinsInAJobLetsTheOtherGoOn) {
  StartRank(fake_agent);
  std::atomic<bool> done = false;
  std::thread other([&] { done = true; });
  while (!done.load()) EXPECT_EQ(sched_yield(), 0);
  other.join();
}

}  // namespace
}  // namespace eidolon::shim::time
