// Time in a process outside any job: as without the shim.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "shim/program/time/test_world.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {
namespace {

TEST(NoJobTimeTest, ClocksAreTheSystems) {
  const std::int64_t before = core::MonotonicNs();
  const std::int64_t shown = ReadNs(CLOCK_MONOTONIC);
  const std::int64_t after = core::MonotonicNs();

  EXPECT_FALSE(InJob());
  EXPECT_LE(before, shown);
  EXPECT_LE(shown, after);
}

TEST(NoJobTimeTest, SleepsSleep) {
  RealTimer timer;

  std::this_thread::sleep_for(std::chrono::milliseconds(30));

  EXPECT_GE(timer.Seconds(), 0.03);
}

TEST(NoJobTimeTest, TimedWaitsTimeOutAfterTheirTime) {
  std::mutex mutex;
  std::condition_variable condition;
  RealTimer timer;

  std::unique_lock lock(mutex);
  EXPECT_FALSE(condition.wait_for(lock, std::chrono::milliseconds(30), [] { return false; }));
  EXPECT_EQ(poll(nullptr, 0, 30), 0);

  EXPECT_GE(timer.Seconds(), 0.06);
}

TEST(NoJobTimeTest, WallClockFunctionsAgree) {
  timeval before{};
  gettimeofday(&before, nullptr);
  const std::int64_t seconds = ::time(nullptr);
  const std::int64_t nanoseconds = ReadNs(CLOCK_REALTIME);
  timeval after{};
  gettimeofday(&after, nullptr);

  EXPECT_GE(seconds, before.tv_sec - 1);  // It reads a clock that is a tick behind.
  EXPECT_LE(seconds, after.tv_sec);
  EXPECT_GE(nanoseconds / 1'000'000'000, before.tv_sec);
  EXPECT_LE(nanoseconds / 1'000'000'000, after.tv_sec);
}

}  // namespace
}  // namespace eidolon::shim::time
