// The measured host model, in a process of its own: the model is fixed when the session begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"

namespace eidolon::shim::core {
namespace {

void Call() {
  Enter("x", ring::CallClass::kQuery, -1, [] { return 0; });
}

// Burns CPU time of this thread.
void Work(std::int64_t ns) {
  const std::int64_t end = ThreadCpuNs() + ns;
  while (ThreadCpuNs() < end) {
  }
}

class MeasuredClockTest : public ::testing::Test {
 protected:
  MeasuredClockTest() : agent_(FakeAgent::Start({.host_model = ring::HostModel::kMeasured})) {
    EXPECT_NE(Session::Get(), nullptr);
    Call();
  }
  FakeAgent& agent_;
};

TEST_F(MeasuredClockTest, CpuTimeBetweenCallsMovesTheClock) {
  const auto before = Now();
  Work(20'000'000);
  Call();

  const auto passed = (Now() - before).ps;
  EXPECT_GE(passed, 19'000'000'000);
  EXPECT_LE(passed, 40'000'000'000);
}

TEST_F(MeasuredClockTest, EachCallTakesWhatTheRealDriverDoes) {
  constexpr int kCalls = 1000;
  const auto before = Now();
  for (int i = 0; i < kCalls; ++i) Call();

  EXPECT_GE((Now() - before).ps, kCalls * 1'000'000);  // FakeAgent's cost of each.
}

TEST_F(MeasuredClockTest, SleepingDoesNotMoveTheClock) {
  const auto before = Now();
  RealSleep(50'000'000);
  Call();

  EXPECT_LE((Now() - before).ps, 5'000'000'000);
}

TEST_F(MeasuredClockTest, TimeInsideTheShimDoesNotCount) {
  const auto before = Now();
  Enter("x", ring::CallClass::kQuery, -1, [] {
    Work(20'000'000);
    return 0;
  });
  Work(30'000);
  Call();

  EXPECT_LE((Now() - before).ps, 5'000'000'000);
}

TEST_F(MeasuredClockTest, APauseInsideTheShimTakesNothingFromTheProgram) {
  const auto before = Now();
  Enter("x", ring::CallClass::kQuery, -1, [] {
    RealSleep(30'000'000);  // As when the thread gets no processor.
    return 0;
  });
  Work(20'000'000);
  Call();

  EXPECT_GE((Now() - before).ps, 19'000'000'000);
}

TEST_F(MeasuredClockTest, ParallelThreadsAreNotAddedUp) {
  const auto before = Now();
  std::latch both_began(2);  // A thread's own time begins where the process is at its first call.
  const auto body = [&](std::int64_t* used_ps) {
    NoteThreadIssuedWork();
    Call();
    both_began.arrive_and_wait();
    const std::int64_t begin_ns = ThreadCpuNs();
    for (int i = 0; i < 10; ++i) {
      Work(3'000'000);
      Call();
    }
    *used_ps = (ThreadCpuNs() - begin_ns) * 1000;
  };
  std::int64_t first_ps = 0;
  std::int64_t second_ps = 0;
  std::thread first(body, &first_ps);
  std::thread second(body, &second_ps);
  first.join();
  second.join();

  const auto passed = (Now() - before).ps;
  EXPECT_GE(passed, 29'000'000'000);
  EXPECT_LE(passed, std::max(first_ps, second_ps) + std::min(first_ps, second_ps) / 2);
}

TEST_F(MeasuredClockTest, AThreadThatWaitedContinuesFromTheProcessClock) {
  AdvanceTo(Now() + base::Duration::Milliseconds(500));
  std::thread([] {
    NoteThreadIssuedWork();
    Call();
  }).join();
  const auto before = Now();
  NoteWaited();
  Work(10'000'000);
  Call();

  EXPECT_GE((Now() - before).ps, 9'000'000'000);
}

}  // namespace
}  // namespace eidolon::shim::core
