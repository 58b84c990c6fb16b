// Time in a rank: the process has a session with a (fake) agent, host model fixed.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/core/file_question.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& fake_agent = core::FakeAgent::Start();

class RankTimeTest : public testing::Test {
 protected:
  RankTimeTest() { StartRank(fake_agent); }
};

TEST_F(RankTimeTest, ClocksShowTheRankClock) {
  const std::int64_t wall = ReadNs(CLOCK_REALTIME);
  const std::int64_t monotonic = ReadNs(CLOCK_MONOTONIC);

  core::AdvanceTo(core::Now() + base::Duration::Milliseconds(1234));

  EXPECT_EQ(ReadNs(CLOCK_REALTIME) - wall, 1'234'000'000);
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - monotonic, 1'234'000'000);
}

TEST_F(RankTimeTest, WhoAsksAboutAFileSeesALaterWallClock) {
  const base::SimTime before = core::Now();
  const std::int64_t first = ReadNs(CLOCK_REALTIME);
  EXPECT_EQ(ReadNs(CLOCK_REALTIME), first) << "nothing happened in between";

  core::NoteFileQuestion();
  const std::int64_t second = ReadNs(CLOCK_REALTIME);

  EXPECT_EQ(second - first, 1000);
  EXPECT_EQ(ReadNs(CLOCK_REALTIME), second) << "it does not go back";
  EXPECT_EQ(core::Now(), before) << "the clock itself stands still";
  core::AdvanceTo(before + base::Duration::Milliseconds(1));
  EXPECT_EQ(ReadNs(CLOCK_REALTIME) - first, 1'000'000) << "the clock caught up";
}

TEST_F(RankTimeTest, ReadingAClockCostsNothing) {
  const base::SimTime before = core::Now();

  for (int i = 0; i < 100; ++i) ReadNs(CLOCK_MONOTONIC);

  EXPECT_EQ(core::Now(), before);
}

TEST_F(RankTimeTest, ALoopThatPollsTheClockEnds) {
  const std::int64_t end = ReadNs(CLOCK_MONOTONIC) + 5'000'000;
  RealTimer timer;

  while (ReadNs(CLOCK_MONOTONIC) < end) {
  }

  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, AnHoursSleepTakesNoRealTime) {
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
  RealTimer timer;

  ::sleep(3600);

  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - before, 3600 * kSecond);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, SleepsBetweenLooksAtAChildGiveItRealTime) {
  const pid_t child = fork();
  if (child == 0) {
    core::RealSleep(100'000'000);
    _exit(0);
  }

  int looks = 0;
  while (waitpid(child, nullptr, WNOHANG) == 0 && looks < 300) {
    ++looks;
    ::sleep(1);
  }

  EXPECT_LT(looks, 300);
}

TEST_F(RankTimeTest, ASleepAsksTheAgentSoThatPeersStayInStep) {
  std::this_thread::sleep_for(std::chrono::milliseconds(7));

  const auto asked = fake_agent.RecordsOf(ring::RecordKind::kWaitUntil);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].As<ring::WaitRecord>().id, static_cast<std::uint64_t>(core::Now().ps));
}

TEST_F(RankTimeTest, RanksThatLockAFileAtOneMomentDoSoInTheirOrder) {
  const int file = memfd_create("lock", MFD_CLOEXEC);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int other = open(path.c_str(), O_RDWR | O_CLOEXEC);
  setenv("RANK", "3", 1);
  const std::int64_t next_us_ps = (core::Now().ps / 1'000'000 + 2) * 1'000'000;
  core::AdvanceTo(base::SimTime{next_us_ps - 600});

  EXPECT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(core::Now(), base::SimTime{next_us_ps + 3}) << "the next microsecond, rank 3 in it";
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(flock(file, LOCK_UN), 0);

  EXPECT_EQ(fake_agent.RecordsOf(ring::RecordKind::kWaitUntil).size(), 2u) << "unlocking is free";
  unsetenv("RANK");
  for (const int fd : {file, other}) close(fd);
}

TEST_F(RankTimeTest, AWatchdogsClockRunsNoFasterThanRealTime) {
  std::atomic<bool> ready{false}, hour_passed{false};
  std::int64_t shown = 0;
  std::thread watchdog([&] {
    pthread_setname_np(pthread_self(), "pt_nccl_watchdg");
    const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
    ready = true;
    while (!hour_passed) core::RealSleep(1'000'000);
    shown = ReadNs(CLOCK_MONOTONIC) - before;
  });
  while (!ready) core::RealSleep(1'000'000);

  ::sleep(3600);
  hour_passed = true;
  watchdog.join();

  EXPECT_GE(shown, 0);
  EXPECT_LT(shown, static_cast<std::int64_t>(kSoon) * kSecond);
}

TEST_F(RankTimeTest, AConditionWaitOfHalfASecondReturnsAndMovesTheClock) {
  std::mutex mutex;
  std::condition_variable condition;
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
  RealTimer timer;

  std::unique_lock lock(mutex);
  const bool signalled =
      condition.wait_for(lock, std::chrono::milliseconds(500), [] { return false; });

  EXPECT_FALSE(signalled);
  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - before, 500'000'001);  // Later than the deadline.
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, ASignalEndsAConditionWaitLongBeforeItsTimeout) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "our wait calls libc's, so the sanitizer does not see that the mutex is released";
#endif
#endif
  std::mutex mutex;
  std::condition_variable condition;
  bool done = false;
  RealTimer timer;
  std::thread other([&] {
    core::RealSleep(50'000'000);
    const std::lock_guard guard(mutex);
    done = true;
    condition.notify_one();
  });

  std::unique_lock lock(mutex);
  EXPECT_TRUE(condition.wait_for(lock, std::chrono::hours(1), [&] { return done; }));
  other.join();

  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, WaitingForTheInterpreterLockNeverMovesTheClock) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition, &attributes);
  const base::SimTime before = core::Now();

  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 3; ++i) {
    const timespec until = ToTimespec(ReadNs(CLOCK_MONOTONIC) + 5'000'000);
    EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &until), ETIMEDOUT);
  }
  pthread_mutex_unlock(&mutex);

  EXPECT_EQ(core::Now(), before);
}

// As CPython waits for its lock; returns how many turns ended by their time.
int WaitForALock(int rounds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  int timed_out = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < rounds; ++i) {
    const timespec until = ToTimespec(ReadNs(CLOCK_MONOTONIC) + 50'000);
    if (pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT) ++timed_out;
  }
  pthread_mutex_unlock(&mutex);
  return timed_out;
}

TEST_F(RankTimeTest, HoweverLongTheInterpreterLockIsWaitedForItIsNoPolling) {
  core::AdvanceTo(core::Now() + base::Duration::Milliseconds(1));
  const base::SimTime before = core::Now();

  WaitForALock(3000);

  EXPECT_EQ(core::Now(), before);
}

TEST_F(RankTimeTest, AHelperThatHasLivedThroughTimeStillWaitsForItsLockInShortTurns) {
  int timed_out = 0;
  std::thread helper([&] {
    const std::int64_t end = ReadNs(CLOCK_MONOTONIC) + 2 * kSecond;
    while (ReadNs(CLOCK_MONOTONIC) < end) {
      const timespec virtual_sleep = ToTimespec(kSecond / 2);
      nanosleep(&virtual_sleep, nullptr);
    }
    timed_out = WaitForALock(3);
  });

  helper.join();

  EXPECT_EQ(timed_out, 3);
}

TEST_F(RankTimeTest, ShortTimedWaitsEnd) {
  std::mutex mutex;
  std::condition_variable condition;
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);

  std::unique_lock lock(mutex);
  EXPECT_FALSE(condition.wait_for(lock, std::chrono::milliseconds(5), [] { return false; }));

  EXPECT_EQ(ReadNs(CLOCK_MONOTONIC) - before, 5'000'001);
}

TEST_F(RankTimeTest, ATimeoutPassesWhenVirtualTimeRunsFast) {
  std::atomic<bool> waiting{false};
  RealTimer timer;
  std::thread helper([&] {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    waiting = true;
    condition.wait_for(lock, std::chrono::hours(1), [] { return false; });
  });
  while (!waiting) core::RealSleep(1'000'000);
  core::RealSleep(20'000'000);

  ::sleep(3601);
  helper.join();

  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, AHelperSleepsThroughItsTimedWaitsWhereVirtualTimeStandsStill) {
  std::atomic<int> waits{-1};
  std::thread helper([&] {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    condition.wait_for(lock, std::chrono::milliseconds(100));  // Learns how fast virtual time is.
    const std::int64_t end = core::MonotonicNs() + kSecond;
    int number = 0;
    for (; core::MonotonicNs() < end; ++number) {
      condition.wait_for(lock, std::chrono::milliseconds(100));  // May wake without cause.
    }
    waits = number;
  });
  // This thread does not wait for it as a program would: nothing moves the clock.
  while (waits < 0) core::RealSleep(1'000'000);
  helper.join();

  EXPECT_LE(waits, 15);
}

TEST_F(RankTimeTest, AHelperThatSleepsLongLooksAtTheClockSeldom) {
  std::atomic<long> looks{-1};
  std::thread helper([&] {
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    const timespec second = ToTimespec(kSecond);
    nanosleep(&second, nullptr);
    getrusage(RUSAGE_THREAD, &after);
    looks = after.ru_nvcsw - before.ru_nvcsw;
  });
  while (looks < 0) core::RealSleep(1'000'000);
  helper.join();

  EXPECT_LE(looks, 40);
}

TEST_F(RankTimeTest, ASemaphoreWaitTimesOut) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const timespec until = ToTimespec(ReadNs(CLOCK_REALTIME) + 100'000'000);
  RealTimer timer;

  const int result = sem_timedwait(&semaphore, &until);

  EXPECT_EQ(result, -1);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, ATimeoutDoesNotExpireWhileAnotherThreadIsAtWorkOnWhatIsAwaited) {
  const base::SimTime before = core::Now();
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread worker([&] {
    // A quarter of a second of its own processor time: at least as much real time.
    const std::int64_t end = core::ThreadCpuNs() + kSecond / 4;
    while (core::ThreadCpuNs() < end) {
    }
    sem_post(&semaphore);
  });
  const timespec until = ToTimespec(ReadNs(CLOCK_MONOTONIC) + kSecond / 20);

  EXPECT_EQ(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until), 0);

  worker.join();
  EXPECT_EQ(core::Now(), before);
}

TEST_F(RankTimeTest, ATimeoutDoesNotExpireWhileAChildIsAtWork) {
  const base::SimTime before = core::Now();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::int64_t end = core::ThreadCpuNs() + kSecond;
    while (core::ThreadCpuNs() < end) {
    }
    _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
  }
  pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};

  EXPECT_EQ(poll(&one, 1, 50), 1);

  waitpid(child, nullptr, 0);
  EXPECT_EQ(core::Now(), before);
}

TEST_F(RankTimeTest, APostedSemaphoreIsTakenAtOnce) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  const timespec until = ToTimespec(ReadNs(CLOCK_MONOTONIC) + 100 * kSecond);

  EXPECT_EQ(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until), 0);
}

TEST_F(RankTimeTest, AFutureTimesOut) {
  std::promise<int> promise;
  RealTimer timer;

  const auto status = promise.get_future().wait_for(std::chrono::milliseconds(100));

  EXPECT_EQ(status, std::future_status::timeout);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, PollSelectAndEpollTimeOutAndSeeEvents) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};
  const int epoll = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  timeval timeout{.tv_sec = 0, .tv_usec = 50'000};

  EXPECT_EQ(poll(&one, 1, 50), 0);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 50), 0);
  EXPECT_EQ(select(ends[0] + 1, &set, nullptr, nullptr, &timeout), 0);

  ASSERT_EQ(write(ends[1], "x", 1), 1);
  FD_SET(ends[0], &set);
  timeout = {.tv_sec = 100, .tv_usec = 0};
  EXPECT_EQ(poll(&one, 1, 100'000), 1);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 100'000), 1);
  EXPECT_EQ(select(ends[0] + 1, &set, nullptr, nullptr, &timeout), 1);
  EXPECT_TRUE(FD_ISSET(ends[0], &set));
}

TEST_F(RankTimeTest, LookingUntilADeadlineOfZeroEndsAndMovesNoClock) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};
  const base::SimTime before = core::Now();

  // Python's multiprocessing.connection.wait polls so.
  for (int round = 0; round < 3; ++round) {
    const std::int64_t deadline = ReadNs(CLOCK_MONOTONIC);
    int looks = 0;
    do {
      ++looks;
      EXPECT_EQ(poll(&one, 1, 0), 0);
    } while (ReadNs(CLOCK_MONOTONIC) <= deadline && looks < 10);
    EXPECT_EQ(looks, 1);
  }

  EXPECT_EQ(core::Now(), before);
}

TEST_F(RankTimeTest, AHelpersPollingLoopEndsThoughTheDriverOnlyWaitsForIt) {
  const base::SimTime before = core::Now();
  RealTimer timer;
  std::thread helper([] {
    const std::int64_t end = ReadNs(CLOCK_MONOTONIC) + 1'000'000;
    while (ReadNs(CLOCK_MONOTONIC) < end) {
    }
  });

  helper.join();

  EXPECT_EQ(core::Now(), before);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, AHelpersSleepsEndAtTheirDeadlineThoughTheDriverOnlyWaitsForIt) {
  const base::SimTime before = core::Now();
  RealTimer timer;
  std::thread helper([] {
    const std::int64_t end = ReadNs(CLOCK_MONOTONIC) + 50'000'000;
    while (ReadNs(CLOCK_MONOTONIC) < end) {
      const timespec virtual_sleep = ToTimespec(10'000'000);
      nanosleep(&virtual_sleep, nullptr);
    }
  });

  helper.join();

  EXPECT_EQ(core::Now(), before);
  EXPECT_LT(timer.Seconds(), kSoon);
}

TEST_F(RankTimeTest, AHelpersSleepsAreNoTimeWhileTheDriverRuns) {
  std::atomic<bool> slept = false;
  std::int64_t seen_ns = 0;
  std::thread helper([&] {
    const std::int64_t begin = ReadNs(CLOCK_MONOTONIC);
    const timespec virtual_sleep = ToTimespec(20'000'000);
    nanosleep(&virtual_sleep, nullptr);
    seen_ns = ReadNs(CLOCK_MONOTONIC) - begin;
    slept = true;
  });

  while (!slept) {
  }
  helper.join();

  EXPECT_EQ(seen_ns, 0);
}

TEST_F(RankTimeTest, AnInvalidSleepIsRefusedAsLibcDoes) {
  const timespec bad{.tv_sec = 0, .tv_nsec = kSecond};

  EXPECT_EQ(nanosleep(&bad, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, nullptr), EINVAL);
}

}  // namespace
}  // namespace eidolon::shim::time
