// Waits under the measured host model, without a timeout and with one, in a process of its own: the
// model is fixed when the session begins.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/simulation_work.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kWorkNs = 10'000'000;
constexpr std::int64_t kWorkPs = kWorkNs * 1000;

core::FakeAgent& fake_agent = core::FakeAgent::Start({.host_model = ring::HostModel::kMeasured});

void Call() {
  core::Enter("x", ring::CallClass::kQuery, -1, [] { return 0; });
}

void Work(std::int64_t ns) {
  const std::int64_t end = core::ThreadCpuNs() + ns;
  while (core::ThreadCpuNs() < end) {
  }
}

class MeasuredWaitsTest : public testing::Test {
 protected:
  MeasuredWaitsTest() {
    StartRank(fake_agent);
    Call();
  }

  // Another driver works, then runs `wake`; this thread runs `wait` meanwhile, and works as much
  // afterwards. The rank's time that passes.
  static std::int64_t PassedWhileWaiting(const std::function<void()>& wait,
                                         const std::function<void()>& wake) {
    const auto before = core::Now();
    std::thread other([&] {
      core::NoteThreadIssuedWork();
      Call();
      Work(kWorkNs);
      Call();
      wake();
    });
    wait();
    Work(kWorkNs);
    Call();
    const std::int64_t passed = (core::Now() - before).ps;
    other.join();
    return passed;
  }
};

// What is measured is scaled by this core's speed, so that only the order of magnitude is certain.
void ExpectBoth(std::int64_t passed) { EXPECT_GE(passed, kWorkPs + kWorkPs / 2); }

TEST_F(MeasuredWaitsTest, WorkOfTwoThreadsThatShareNothingIsNotAddedUp) {
  const std::int64_t passed = PassedWhileWaiting([] {}, [] {});
  EXPECT_LE(passed, kWorkPs + kWorkPs / 2);
}

TEST_F(MeasuredWaitsTest, WhoWaitedForAConditionGoesOnBehindWhoSignalledIt) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool ready = false;
  const auto wait = [&] {
    pthread_mutex_lock(&mutex);
    while (!ready) EXPECT_EQ(pthread_cond_wait(&condition, &mutex), 0);
    pthread_mutex_unlock(&mutex);
  };
  const auto wake = [&] {
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  };
  ExpectBoth(PassedWhileWaiting(wait, wake));
}

TEST_F(MeasuredWaitsTest, WhoWaitedForAConditionOfC11GoesOnBehindWhoSignalledIt) {
  cnd_t condition;
  cnd_init(&condition);
  // Locked as glibc's C11 does, since a thread sanitizer does not know C11's functions.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool ready = false;
  const auto wait = [&] {
    pthread_mutex_lock(&mutex);
    while (!ready) {
      EXPECT_EQ(cnd_wait(&condition, reinterpret_cast<mtx_t*>(&mutex)), thrd_success);
    }
    pthread_mutex_unlock(&mutex);
  };
  const auto wake = [&] {
    pthread_mutex_lock(&mutex);
    ready = true;
    cnd_signal(&condition);
    pthread_mutex_unlock(&mutex);
  };
  ExpectBoth(PassedWhileWaiting(wait, wake));
}

TEST_F(MeasuredWaitsTest, WhoWaitedForASemaphoreGoesOnBehindWhoPostedIt) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  ExpectBoth(PassedWhileWaiting([&] { EXPECT_EQ(sem_wait(&semaphore), 0); },
                                [&] { EXPECT_EQ(sem_post(&semaphore), 0); }));
}

TEST_F(MeasuredWaitsTest, AFreeSemaphoreIsTakenWithoutAWait) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  errno = ENOENT;
  const std::int64_t passed = PassedWhileWaiting(
      [&] {
        EXPECT_EQ(sem_wait(&semaphore), 0);
        EXPECT_EQ(errno, ENOENT);
      },
      [] {});
  EXPECT_LE(passed, kWorkPs + kWorkPs / 2);
}

TEST_F(MeasuredWaitsTest, WhoWaitedForAFutexGoesOnBehindWhoWokeIt) {
  std::atomic<int> word = 0;
  const auto wait = [&] {
    while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  };
  const auto wake = [&] {
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  };
  ExpectBoth(PassedWhileWaiting(wait, wake));
}

// A thread of its own for each, joined here.
template <typename Start>
std::int64_t PassedWhileJoining(const Start& start_and_join) {
  const auto before = core::Now();
  start_and_join();
  Work(kWorkNs);
  Call();
  return (core::Now() - before).ps;
}

void* WorkAsDriver(void* result) {
  core::NoteThreadIssuedWork();
  Call();
  Work(kWorkNs);
  Call();
  return result;
}

TEST_F(MeasuredWaitsTest, WhoJoinedAThreadGoesOnBehindIt) {
  ExpectBoth(PassedWhileJoining([] { std::thread(WorkAsDriver, nullptr).join(); }));
}

TEST_F(MeasuredWaitsTest, WhoJoinedAThreadOfC11GoesOnBehindIt) {
  int result = 0;
  ExpectBoth(PassedWhileJoining([&result] {
    // Made as glibc's C11 does, since a thread sanitizer does not know C11's functions.
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, WorkAsDriver, reinterpret_cast<void*>(7)), 0);
    EXPECT_EQ(thrd_join(thread, &result), thrd_success);
  }));
  EXPECT_EQ(result, 7);
}

// A wait with a timeout of kTimeoutNs for a semaphore that a helper posts, unless it expires first.
class MeasuredTimeoutTest : public MeasuredWaitsTest {
 protected:
  static constexpr std::int64_t kTimeoutNs = 30'000'000;
  static constexpr std::int64_t kMuchLongerNs = 10 * kTimeoutNs;

  MeasuredTimeoutTest() { sem_init(&semaphore_, 0, 0); }

  // Runs `bring` beside the wait. Whether the wait was fulfilled.
  bool WaitsFor(const std::function<void()>& bring) {
    Call();
    before_ = core::Now();
    std::thread helper([&] {
      bring();
      sem_post(&semaphore_);
    });
    const timespec until = ToTimespec(ReadNs(CLOCK_MONOTONIC) + kTimeoutNs);
    const int result = sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until);
    passed_ps_ = (core::Now() - before_).ps;
    helper.join();
    return result == 0;
  }

  sem_t semaphore_{};
  base::SimTime before_;
  std::int64_t passed_ps_ = 0;
};

TEST_F(MeasuredTimeoutTest, AnAnswerThatTheSimulationTakesLongForComesBeforeTheTimeout) {
  fake_agent.AnswerWith([](const core::FakeAgent::Record& record) {
    core::RealSleep(kMuchLongerNs);
    return core::FakeAgent::DefaultAnswer(record);
  });

  EXPECT_TRUE(WaitsFor([] {
    ring::WaitRecord question{};
    question.header.kind = ring::RecordKind::kQueryEvent;
    question.observer = 1;
    core::Ask(*core::Session::Existing(), question, false);
  }));

  EXPECT_LT(passed_ps_, kTimeoutNs * 1000);
}

TEST_F(MeasuredTimeoutTest, AHostFunctionOnItsWayComesBeforeTheTimeout) {
  core::NoteHostFunctionQueued();

  EXPECT_TRUE(WaitsFor([] { core::RealSleep(kMuchLongerNs); }));
  core::NoteHostFunctionRan();

  EXPECT_LT(passed_ps_, kTimeoutNs * 1000);
}

TEST_F(MeasuredTimeoutTest, WorkOfTheProcessForAsLongAsTheTimeoutLetsItExpire) {
  EXPECT_FALSE(WaitsFor([] { Work(kMuchLongerNs); }));

  EXPECT_GE(passed_ps_, kTimeoutNs * 1000);
  EXPECT_LT(passed_ps_, kMuchLongerNs * 1000);
}

TEST_F(MeasuredTimeoutTest, AProcessThatRestsMovesTheClockByTheTimeout) {
  // On a machine with other work the process is seen to rest late.
  EXPECT_FALSE(WaitsFor([] { core::RealSleep(10 * kMuchLongerNs); }));

  EXPECT_GE(passed_ps_, kTimeoutNs * 1000);
  EXPECT_LT(passed_ps_, kMuchLongerNs * 1000);
}

}  // namespace
}  // namespace eidolon::shim::time
