#include "services/runtime/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>

namespace eidolon::runtime {
namespace {

TEST(ThreadsTest, AnOrdinaryProcessMayStartThem) {
  const auto checked = CheckThreads(8);

  EXPECT_TRUE(checked) << checked.error().message;
}

void ThrowInAThread(std::errc code) {
  ExitWhenThreadsRunOut();
  std::thread([code] { throw std::system_error(std::make_error_code(code)); }).join();
}

TEST(ThreadsDeathTest, AThreadThatCannotBeStartedEndsTheProcessWithASentence) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ThrowInAThread(std::errc::resource_unavailable_try_again),
              ::testing::ExitedWithCode(1), "no_threads.*ulimit -u");
}

TEST(ThreadsDeathTest, OtherUncaughtExceptionsStillAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ThrowInAThread(std::errc::io_error), ::testing::KilledBySignal(SIGABRT), "");
}

// The limit holds for users other than root.
TEST(ThreadsTest, WhereNoneMayBeStartedTheLimitsAreNamed) {
  constexpr uid_t kNobody = 65534;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {.rlim_cur = 1, .rlim_max = 1};
    std::string told = "the user could not be changed, or the limit not set";
    if ((geteuid() != 0 || setuid(kNobody) == 0) && setrlimit(RLIMIT_NPROC, &none) == 0) {
      const auto checked = CheckThreads(4);
      told = checked ? "all were started" : checked.error().message;
    }
    _exit(write(ends[1], told.data(), told.size()) == static_cast<ssize_t>(told.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[512] = {};
  EXPECT_GT(read(ends[0], text, sizeof(text) - 1), 0);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_STREQ(text,
               "only 0 of 4 threads could be started (Resource temporarily unavailable): raise the "
               "limit of the user's processes (ulimit -u) or of the container's (pids), or end "
               "some");
}

}  // namespace
}  // namespace eidolon::runtime
