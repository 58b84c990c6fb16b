// The processor's tick counter in a rank whose profiler watches.
#include "shim/program/time/tick_clock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/program/time/test_world.h"

#if defined(__x86_64__)

#include <x86intrin.h>

namespace eidolon::shim::time {
namespace {

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& fake_agent = core::FakeAgent::Start();

class TickClockTest : public testing::Test {
 protected:
  TickClockTest() { StartRank(fake_agent); }
  ~TickClockTest() override { ShowRealTicks(); }
};

TEST_F(TickClockTest, ReadingsAreTheVirtualWallClock) {
  ASSERT_TRUE(ShowVirtualTicks());

  const auto before = static_cast<std::int64_t>(__rdtsc());
  core::AdvanceTo(core::Now() + base::Duration::Milliseconds(1234));
  unsigned processor = 1;
  const auto after = static_cast<std::int64_t>(__rdtscp(&processor));

  EXPECT_EQ(before + 1'234'000'000, after);
  EXPECT_EQ(after, ReadNs(CLOCK_REALTIME));
}

TEST_F(TickClockTest, OtherThreadsFollow) {
  std::atomic<int> step{0};
  std::uint64_t seen = 0;
  std::thread other([&] {
    step = 1;
    while (step != 2) core::SpinPause();
    seen = __rdtsc();
  });
  while (step != 1) core::SpinPause();

  ASSERT_TRUE(ShowVirtualTicks());
  core::RealSleep(20'000'000);  // The other thread's signal.
  step = 2;
  other.join();

  EXPECT_EQ(static_cast<std::int64_t>(seen), ReadNs(CLOCK_REALTIME));
}

TEST_F(TickClockTest, TheShimsOwnReadingsGoOnAtTheirRate) {
  const std::uint64_t before = core::ReadTicks();
  ASSERT_TRUE(ShowVirtualTicks());

  const std::uint64_t hidden = core::ReadTicks();
  core::RealSleep(5'000'000);
  const std::uint64_t later = core::ReadTicks();
  ShowRealTicks();
  const std::uint64_t after = core::ReadTicks();

  EXPECT_LE(before, hidden);
  EXPECT_LT(hidden, later);
  // Both clocks may differ by what the operating system corrects.
  EXPECT_LT(later, after + (later - before) / 100);
}

// LLVM does so while it compiles, and ends the process when a thread that it does not know faults.
TEST_F(TickClockTest, ReadingsGoOnWhileTheProgramHandlesFaults) {
  ASSERT_TRUE(ShowVirtualTicks());
  static std::atomic<int> faults;
  struct sigaction wanted {};
  struct sigaction before {};
  wanted.sa_handler = [](int) { ++faults; };
  ASSERT_EQ(0, sigaction(SIGSEGV, &wanted, &before));

  const std::uint64_t seen = __rdtsc();

  EXPECT_EQ(static_cast<std::int64_t>(seen), ReadNs(CLOCK_REALTIME));
  EXPECT_EQ(0, faults);
  raise(SIGSEGV);
  EXPECT_EQ(1, faults);
  struct sigaction found {};
  ASSERT_EQ(0, sigaction(SIGSEGV, &before, &found));
  EXPECT_EQ(wanted.sa_handler, found.sa_handler);
  EXPECT_EQ(before.sa_handler, signal(SIGSEGV, before.sa_handler));
}

TEST_F(TickClockTest, AHandlerThatIsForOneFaultIsCalledOnce) {
  ASSERT_TRUE(ShowVirtualTicks());
  static std::atomic<int> faults;
  struct sigaction wanted {};
  struct sigaction before {};
  wanted.sa_sigaction = [](int, siginfo_t* info, void*) { faults += info->si_signo; };
  wanted.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
  ASSERT_EQ(0, sigaction(SIGSEGV, &wanted, &before));

  raise(SIGSEGV);

  EXPECT_EQ(SIGSEGV, faults);
  struct sigaction found {};
  ASSERT_EQ(0, sigaction(SIGSEGV, &before, &found));
  EXPECT_EQ(SIG_DFL, found.sa_handler);
}

TEST_F(TickClockTest, WhatTheProcessStartsReadsTheRealCounter) {
  ASSERT_TRUE(ShowVirtualTicks());

  const pid_t child = fork();
  if (child == 0) {
    __rdtsc();
    execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(TickClockTest, ReadingsAreRealAgainAfterwards) {
  ASSERT_TRUE(ShowVirtualTicks());
  const std::uint64_t shown = __rdtsc();
  ShowRealTicks();

  const std::uint64_t first = __rdtsc();
  core::AdvanceTo(core::Now() + base::Duration::Milliseconds(1000 * 1000));

  EXPECT_NE(first / 1'000'000'000'000, shown / 1'000'000'000'000);
  EXPECT_GT(__rdtsc(), first);
}

TEST_F(TickClockTest, AFaultOfTheProgramIsPassedOn) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);  // Not the one of a sanitizer.
        ShowVirtualTicks();
        raise(SIGSEGV);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace eidolon::shim::time

#endif
