// Descriptors and ends of a process with a session; every test is a process of its own that forks
// nobody while it has one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "shim/core/fake_agent.h"
#include "shim/core/life_line.h"
#include "shim/core/session.h"
#include "shim/core/system.h"

extern "C" int close_range(unsigned first, unsigned last, int flags) noexcept;
extern "C" void closefrom(int first) noexcept;

namespace eidolon::shim::core {
namespace {

ring::Farewell FarewellOf(FakeAgent& agent) {
  return static_cast<ring::Farewell>(agent.cursors().farewell.load());
}

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    agent_ = &FakeAgent::Start();
    ASSERT_NE(Session::Get(), nullptr);
    ASSERT_GE(LifeLine(), 0);
  }
  static bool IsOpen(int file) { return fcntl(file, F_GETFD) >= 0; }
  bool Works() {
    ring::WaitRecord wait{};
    wait.header.kind = ring::RecordKind::kSynchronizeDevice;
    return Ask(*Session::Get(), wait, true).status == ring::ReplyStatus::kOk;
  }

  FakeAgent* agent_ = nullptr;
};

TEST_F(ProcessTest, ClosingOneByOneSparesTheLifeLine) {
  const int other = dup(STDERR_FILENO);

  EXPECT_EQ(close(LifeLine()), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(close(other), 0);

  EXPECT_TRUE(IsOpen(LifeLine()));
  EXPECT_FALSE(IsOpen(other));
}

TEST_F(ProcessTest, ClosingARangeSparesTheLifeLineOnly) {
  const int line = LifeLine();
  const int above = fcntl(STDERR_FILENO, F_DUPFD, line + 1);
  ASSERT_GT(above, line);

  // The test itself has descriptors below: only this one's neighbourhood is closed.
  EXPECT_EQ(close_range(static_cast<unsigned>(line), static_cast<unsigned>(above), 0), 0);

  EXPECT_TRUE(IsOpen(line));
  EXPECT_FALSE(IsOpen(above));
  EXPECT_TRUE(Works());
}

TEST_F(ProcessTest, WhoWantsItsNumberGetsIt) {
  const int line = LifeLine();

  EXPECT_EQ(dup2(STDERR_FILENO, line), line);

  EXPECT_NE(LifeLine(), line);
  EXPECT_TRUE(IsOpen(LifeLine()));
  EXPECT_EQ(fcntl(LifeLine(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(Works());
  EXPECT_EQ(close(line), 0) << "it is the program's now";
}

TEST_F(ProcessTest, AnExecThatFailsTakesItsFarewellBack) {
  char name[] = "nothing";
  char* arguments[] = {name, nullptr};

  EXPECT_EQ(execv("/no/such/program", arguments), -1);

  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(FarewellOf(*agent_), ring::Farewell::kNone);
}

TEST_F(ProcessTest, AForksEndIsNotItsParents) {
  const int line = LifeLine();
  const pid_t child = fork();
  if (child == 0) _exit(IsOpen(line) ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 0) << "a child's copy would hide the end of its parent";
  EXPECT_EQ(FarewellOf(*agent_), ring::Farewell::kNone);
  EXPECT_TRUE(IsOpen(line));
}

TEST_F(ProcessTest, AChildOfVforkMayCloseEverythingAndBeReplaced) {
  const pid_t child = vfork();
  if (child == 0) {
    closefrom(3);
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    execve("/bin/true", arguments, environ);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(FarewellOf(*agent_), ring::Farewell::kNone);
  EXPECT_TRUE(Works());
}

TEST_F(ProcessTest, WhatItStartsMayReadTheTickCounter) {
  HideTicks(true);
  TrapTicks(true);
  const int status = system("exit 3");
  FILE* output = popen("echo seen", "r");
  char line[8] = {};
  const bool is_read = output != nullptr && fgets(line, sizeof(line), output) != nullptr;
  const int end = output == nullptr ? -1 : pclose(output);
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                             const_cast<char*>("exit 5"), nullptr};
  pid_t child = -1;
  const int spawned = posix_spawnp(&child, "sh", nullptr, nullptr, arguments, environ);
  int of_child = 0;
  waitpid(child, &of_child, 0);
  pid_t second = -1;
  const int again = posix_spawn(&second, "/bin/sh", nullptr, nullptr, arguments, environ);
  int of_second = 0;
  waitpid(second, &of_second, 0);
  TrapTicks(false);
  HideTicks(false);

  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(is_read);
  EXPECT_STREQ(line, "seen\n");
  EXPECT_EQ(end, 0);
  EXPECT_EQ(spawned, 0);
  EXPECT_EQ(WEXITSTATUS(of_child), 5);
  EXPECT_EQ(again, 0);
  EXPECT_EQ(WEXITSTATUS(of_second), 5);
}

}  // namespace
}  // namespace eidolon::shim::core
