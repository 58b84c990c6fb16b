// Calls that are left to libc and the kernel, in a driver of a rank: what they wait is real and no
// virtual time. The table is docs/waiting_calls.md.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/program/time/test_world.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
core::FakeAgent& fake_agent = core::FakeAgent::Start();

class LeftCallsTest : public testing::Test {
 protected:
  LeftCallsTest() {
    StartRank(fake_agent);
    begin_ = ReadNs(CLOCK_MONOTONIC);
  }
  std::int64_t Passed() const { return ReadNs(CLOCK_MONOTONIC) - begin_; }

  std::int64_t begin_ = 0;
  RealTimer real_;
};

TEST_F(LeftCallsTest, TimesTellsVirtualTicks) {
  tms used{};
  const clock_t before = times(&used);

  core::AdvanceBy(base::Duration::Milliseconds(10'000));

  EXPECT_EQ(times(&used) - before, 10 * sysconf(_SC_CLK_TCK));
  EXPECT_LT(used.tms_utime, 10'000 * sysconf(_SC_CLK_TCK)) << "real processor time";
}

TEST_F(LeftCallsTest, UntimedWaitsTakeNoVirtualTime) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread other([&] {
    core::RealSleep(30'000'000);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    core::RealSleep(30'000'000);
    sem_post(&semaphore);
  });

  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(sem_wait(&semaphore), 0);
  other.join();
  const pid_t child = fork();
  if (child == 0) {
    core::RealSleep(30'000'000);
    _exit(0);
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);

  EXPECT_GE(real_.Seconds(), 0.09);
  EXPECT_EQ(Passed(), 0);
  for (const int fd : ends) close(fd);
}

TEST_F(LeftCallsTest, ASocketsOwnTimeoutIsReal) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};
  ASSERT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);

  char byte = 0;
  EXPECT_EQ(recv(ends[0], &byte, 1, 0), -1);

  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GE(real_.Seconds(), 0.1);
  EXPECT_EQ(Passed(), 0);
  for (const int fd : ends) close(fd);
}

TEST_F(LeftCallsTest, ProcessorTimeOfOthersIsReal) {
  core::AdvanceBy(base::Duration::Milliseconds(1'000'000));
  clockid_t own{}, others{};
  ASSERT_EQ(pthread_getcpuclockid(pthread_self(), &own), 0);
  ASSERT_EQ(clock_getcpuclockid(getppid(), &others), 0);

  EXPECT_LT(ReadNs(CLOCK_THREAD_CPUTIME_ID), 1000 * kSecond);
  EXPECT_LT(ReadNs(own), 1000 * kSecond);
  timespec used{};
  EXPECT_EQ(clock_gettime(others, &used), 0);
  EXPECT_GE(ReadNs(CLOCK_PROCESS_CPUTIME_ID), 1000 * kSecond) << "a rank's is its clock";
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_utime.tv_sec, 1000);
  timespec resolution{};
  ASSERT_EQ(clock_getres(CLOCK_MONOTONIC, &resolution), 0);
  EXPECT_GT(resolution.tv_nsec, 0);
}

TEST_F(LeftCallsTest, SettingClocksChangesNothingThatIsShown) {
  const timespec invalid{.tv_sec = 0, .tv_nsec = -1};
  timex state{};  // Only reads.

  EXPECT_EQ(clock_settime(CLOCK_REALTIME, &invalid), -1);
  EXPECT_GE(adjtimex(&state), 0);

  EXPECT_EQ(Passed(), 0);
  timespec real{};
  core::RawSyscall(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&real));
  EXPECT_NEAR(static_cast<double>(state.time.tv_sec), static_cast<double>(real.tv_sec), kSoon);
}

TEST_F(LeftCallsTest, FilesHaveRealTimes) {
  std::string path = testing::TempDir() + "/left_calls_XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  timespec real{};
  core::RawSyscall(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&real));

  struct stat status {};
  ASSERT_EQ(fstat(file, &status), 0);

  EXPECT_NEAR(static_cast<double>(status.st_mtim.tv_sec), static_cast<double>(real.tv_sec), kSoon);
  close(file);
  unlink(path.c_str());
}

TEST_F(LeftCallsTest, RealWaitsByNumberMoveNoClock) {
  // A futex that another process may own: the kernel looks at its owner, so it waits itself.
  std::uint32_t word = 1;  // Held by the process with the identity 1.
  timespec until{};
  core::RawSyscall(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&until));
  const long result =
      syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, reinterpret_cast<long>(&until), nullptr, 0);
  EXPECT_EQ(result, -1);
  EXPECT_NE(errno, 0);

  const std::uint64_t ticks = core::ReadTicks();
  core::RealSleep(10'000'000);
  EXPECT_GT(core::ReadTicks(), ticks);

  EXPECT_EQ(Passed(), 0);
}

}  // namespace
}  // namespace eidolon::shim::time
