// Timers, signals, children and the end of virtual time in a rank, host model fixed.
#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& StartWithASignalBlocked() {
  // In all threads: it shall be waited for.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return core::FakeAgent::Start();
}
core::FakeAgent& fake_agent = StartWithASignalBlocked();

std::atomic<int> signals_handled{0};

class RankTimersTest : public testing::Test {
 protected:
  RankTimersTest() {
    StartRank(fake_agent);
    begin_ = ReadNs(CLOCK_MONOTONIC);
    signals_handled = 0;
    struct sigaction handler {};
    handler.sa_handler = [](int) { ++signals_handled; };
    for (const int number : {SIGALRM, SIGUSR1}) sigaction(number, &handler, nullptr);
    fake_agent.LetVirtualSleepsPass(true);
  }
  ~RankTimersTest() override {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    fake_agent.LetVirtualSleepsPass(false);
  }

  std::int64_t Passed() const { return ReadNs(CLOCK_MONOTONIC) - begin_; }
  // Asleep until signals have been handled, as programs wait for a tick.
  static void WaitForSignals(int count) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    while (signals_handled < count) sigsuspend(&before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::int64_t begin_ = 0;
  RealTimer real_;
};

TEST_F(RankTimersTest, AnAlarmComesInVirtualTimeAndTakesNoRealTime) {
  EXPECT_EQ(alarm(100), 0u);
  WaitForSignals(1);

  EXPECT_GE(Passed(), 100 * kSecond);
  EXPECT_LT(Passed(), 101 * kSecond);
  EXPECT_LT(real_.Seconds(), kSoon);
  EXPECT_EQ(alarm(0), 0u);
}

TEST_F(RankTimersTest, AHandlerMayArmTheTimerThatItsThreadIsArming) {
  fake_agent.LetVirtualSleepsPass(false);
  constexpr int kSignals = 2000;
  static std::atomic<int> handled{0};
  struct sigaction handler {};
  handler.sa_handler = [](int) {
    alarm(2000);
    ++handled;
  };
  sigaction(SIGUSR1, &handler, nullptr);
  alarm(1000);
  std::atomic<bool> ends{false};
  std::atomic<bool> ended{false};
  std::thread arming([&] {
    while (!ends) {
      alarm(1000);
      itimerval rest{};
      getitimer(ITIMER_REAL, &rest);
    }
    ended = true;
  });
  const auto wait_for = [&](const auto& condition) {
    while (!condition() && real_.Seconds() < kSoon) sched_yield();
  };
  for (int sent = 1; sent <= kSignals && real_.Seconds() < kSoon; ++sent) {
    pthread_kill(arming.native_handle(), SIGUSR1);
    wait_for([&] { return handled >= sent; });
  }
  ends = true;
  wait_for([&] { return ended.load(); });

  // A thread that waits for a lock of its own never ends.
  if (!ended) arming.detach();
  ASSERT_TRUE(ended) << "stuck after " << handled << " signals";
  arming.join();
  EXPECT_EQ(handled, kSignals);
}

TEST_F(RankTimersTest, AnAlarmEndsASleepWithWhatIsLeftOfIt) {
  fake_agent.LetVirtualSleepsPass(false);  // The sleep asks itself.
  alarm(30);

  EXPECT_EQ(sleep(100), 70u);

  EXPECT_EQ(signals_handled, 1);
  EXPECT_EQ(Passed(), 30 * kSecond);
}

TEST_F(RankTimersTest, AnIntervalTimerTicksThroughASleep) {
  fake_agent.LetVirtualSleepsPass(false);
  const itimerval every{.it_interval = {.tv_sec = 10, .tv_usec = 0},
                        .it_value = {.tv_sec = 5, .tv_usec = 0}};
  setitimer(ITIMER_REAL, &every, nullptr);

  for (unsigned left = 38; left > 0;) left = sleep(left);

  EXPECT_EQ(signals_handled, 4) << "at 5, 15, 25 and 35 s";
  itimerval rest{};
  getitimer(ITIMER_REAL, &rest);
  EXPECT_EQ(rest.it_interval.tv_sec, 10);
  EXPECT_LT(rest.it_value.tv_sec, 10);
  EXPECT_LT(real_.Seconds(), kSoon);
}

TEST_F(RankTimersTest, ATimerCountsNoRealTimeWhileTheProgramGoesOn) {
  fake_agent.LetVirtualSleepsPass(false);  // The agent sees that the program works.
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);

  for (int i = 0; i < 100; ++i) {
    core::AdvanceBy(base::Duration::Microseconds(1));
    core::RealSleep(2'000'000);
  }
  EXPECT_EQ(signals_handled, 0) << "a tenth of a millisecond has passed";
  itimerval rest{};
  getitimer(ITIMER_REAL, &rest);
  EXPECT_EQ(rest.it_value.tv_usec, 19'900);
  core::AdvanceBy(base::Duration::Milliseconds(20));
  WaitForSignals(1);

  EXPECT_LT(Passed(), kSecond);
}

TEST_F(RankTimersTest, ATimerDoesNotExpireWhileTheProgramIsKeptFromRunning) {
  fake_agent.LetVirtualSleepsPass(false);
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);

  core::RealSleep(6 * kSecond);  // Uses no processor, as a program that waits for one.

  EXPECT_EQ(signals_handled, 0);
}

TEST_F(RankTimersTest, ALoopThatWaitsForASignalWithoutACallEnds) {
  fake_agent.LetVirtualSleepsPass(false);
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);

  while (signals_handled == 0) {
  }

  EXPECT_GE(Passed(), 20'000'000);
}

TEST_F(RankTimersTest, ATimersDescriptorIsReadableWhenVirtualTimeSaysSo) {
  fake_agent.LetVirtualSleepsPass(false);
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec later{.it_interval = {}, .it_value = ToTimespec(100 * kSecond)};
  ASSERT_EQ(timerfd_settime(fd, 0, &later, nullptr), 0);
  itimerspec rest{};
  ASSERT_EQ(timerfd_gettime(fd, &rest), 0);
  EXPECT_GT(rest.it_value.tv_sec, 98);

  fake_agent.LetVirtualSleepsPass(true);
  std::uint64_t expirations = 0;
  ASSERT_EQ(read(fd, &expirations, sizeof(expirations)), static_cast<ssize_t>(sizeof(expirations)));

  EXPECT_EQ(expirations, 1u);
  EXPECT_GE(Passed(), 100 * kSecond);
  const itimerspec at{.it_interval = {}, .it_value = ToTimespec(begin_ + 200 * kSecond)};
  ASSERT_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, nullptr), 0);
  ASSERT_EQ(read(fd, &expirations, sizeof(expirations)), static_cast<ssize_t>(sizeof(expirations)));
  EXPECT_GE(Passed(), 200 * kSecond);
  EXPECT_LT(Passed(), 201 * kSecond);
  close(fd);
  EXPECT_LT(real_.Seconds(), kSoon);
}

TEST_F(RankTimersTest, APosixTimersSignalIsTheKernels) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  event.sigev_value.sival_int = 4711;
  timer_t timer{};
  ASSERT_EQ(timer_create(CLOCK_REALTIME, &event, &timer), 0);
  const itimerspec later{.it_interval = {}, .it_value = ToTimespec(100 * kSecond)};

  fake_agent.LetVirtualSleepsPass(false);
  ASSERT_EQ(timer_settime(timer, 0, &later, nullptr), 0);
  itimerspec rest{};
  ASSERT_EQ(timer_gettime(timer, &rest), 0);
  EXPECT_GT(rest.it_value.tv_sec, 98);
  fake_agent.LetVirtualSleepsPass(true);
  siginfo_t info{};
  EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR2);

  EXPECT_EQ(info.si_code, SI_TIMER);
  EXPECT_EQ(info.si_value.sival_int, 4711);
  EXPECT_GE(Passed(), 100 * kSecond);
  EXPECT_EQ(timer_delete(timer), 0);
  EXPECT_LT(real_.Seconds(), kSoon);
}

TEST_F(RankTimersTest, ProcessorTimersStayTheKernels) {
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  ASSERT_EQ(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer), 0);
  const itimerspec soon{.it_interval = {}, .it_value = ToTimespec(20'000'000)};

  ASSERT_EQ(timer_settime(timer, 0, &soon, nullptr), 0);
  while (signals_handled == 0) {
  }

  EXPECT_LT(Passed(), kSecond);
  timer_delete(timer);
}

TEST_F(RankTimersTest, InvalidTimersAreRefusedAsLibcDoes) {
  const itimerval bad{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1'000'000}};
  EXPECT_EQ(setitimer(ITIMER_REAL, &bad, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  const itimerspec late{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = kSecond}};
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  EXPECT_EQ(timerfd_settime(fd, 0, &late, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  close(fd);
  EXPECT_EQ(timerfd_settime(fd, 0, &late, nullptr), -1);
}

TEST_F(RankTimersTest, AChildsSleepIsTheRanksTime) {
  const pid_t child = fork();
  if (child == 0) {
    const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
    const unsigned left = sleep(100);
    const bool shown = ReadNs(CLOCK_MONOTONIC) - before >= 100 * kSecond;
    _exit(left == 0 && shown ? 0 : 1);
  }

  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(Passed(), 100 * kSecond);
  EXPECT_LT(real_.Seconds(), kSoon);
}

TEST_F(RankTimersTest, AForksClockGoesOnWhereItsParentIs) {
  core::AdvanceBy(base::Duration::Milliseconds(3'600'000));
  const std::int64_t parents = ReadNs(CLOCK_REALTIME);
  const pid_t child = fork();
  if (child == 0) {
    const std::int64_t childs = ReadNs(CLOCK_REALTIME);
    _exit(childs >= parents - kSecond && childs <= parents + 60 * kSecond ? 0 : 1);
  }

  int status = -1;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}

// Signals the calling thread again and again from the time on when it has gone to sleep.
class Interrupter {
 public:
  explicit Interrupter(pthread_t thread)
      : thread_([this, thread] {
          while (!done_) {
            core::RealSleep(50'000'000);
            if (!done_) pthread_kill(thread, SIGUSR1);
          }
        }) {}
  ~Interrupter() {
    done_ = true;
    thread_.join();
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

TEST_F(RankTimersTest, ASleepBeyondTheEndOfTimeEndsByASignalOnly) {
  constexpr timespec kForever{.tv_sec = 1'000'000'000, .tv_nsec = 0};
  timespec left{};
  {
    const Interrupter interrupter(pthread_self());
    testing::internal::CaptureStderr();
    EXPECT_EQ(nanosleep(&kForever, &left), -1);
    EXPECT_EQ(errno, EINTR);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("beyond the end of virtual time"),
              std::string::npos);
  }

  EXPECT_GT(left.tv_sec, 1'000'000'000 - static_cast<std::int64_t>(kSoon));
  EXPECT_LT(left.tv_sec, 1'000'000'000);
  EXPECT_EQ(Passed(), 0);
}

TEST_F(RankTimersTest, AWaitBeyondTheEndOfTimeEndsByItsEventOnly) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    core::RealSleep(100'000'000);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};
  constexpr timespec kForever{.tv_sec = 1'000'000'000, .tv_nsec = 0};

  EXPECT_EQ(ppoll(&one, 1, &kForever, nullptr), 1);

  writer.join();
  EXPECT_EQ(Passed(), 0);
  for (const int fd : ends) close(fd);
}

TEST_F(RankTimersTest, AHelpersSleepTellsWhatIsLeftOfIt) {
  std::atomic<bool> ready = false;
  timespec left{};
  int result = 0;
  std::thread helper([&] {
    const timespec request{.tv_sec = 1000, .tv_nsec = 0};
    ready = true;
    result = nanosleep(&request, &left);
  });
  while (!ready) core::RealSleep(1'000'000);
  {
    const Interrupter interrupter(helper.native_handle());
    helper.join();
  }

  EXPECT_EQ(result, -1);
  EXPECT_EQ(left.tv_sec, 1000) << "no virtual time has passed";
}

TEST_F(RankTimersTest, AnEventEndsAWaitAndNothingIsLeftOfIt) {
  fake_agent.LetVirtualSleepsPass(false);
  const int seen = fake_agent.virtual_sleeps_seen();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    while (fake_agent.virtual_sleeps_seen() == seen) core::RealSleep(1'000'000);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  pollfd one{.fd = ends[0], .events = POLLIN, .revents = 0};

  EXPECT_EQ(poll(&one, 1, 3'600'000), 1);

  writer.join();
  EXPECT_EQ(Passed(), 0);
  while (fake_agent.virtual_sleeps_waiting() > 0) core::RealSleep(1'000'000);
  for (const int fd : ends) close(fd);
}

TEST_F(RankTimersTest, AConditionsWaitThatIsGivenUpIsForgotten) {
  fake_agent.LetVirtualSleepsPass(false);
  const int seen = fake_agent.virtual_sleeps_seen();
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  // Returns without cause after a while, and the program looks no further.
  while (fake_agent.virtual_sleeps_seen() == seen) {
    condition.wait_until(lock, std::chrono::steady_clock::time_point(
                                   std::chrono::nanoseconds(begin_ + 3600 * kSecond)));
  }

  while (fake_agent.virtual_sleeps_waiting() > 0) core::RealSleep(1'000'000);

  EXPECT_EQ(Passed(), 0);
}

}  // namespace
}  // namespace eidolon::shim::time
