#include "services/base/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace eidolon::base {
namespace {

using ::testing::ExitedWithCode;

// In a child: becomes standard output, then the command prints and ends.
void RunWith(int output, int status) {
  if (output >= 0) dup2(output, STDOUT_FILENO);
  Print("a report\n");
  std::_Exit(FinishOutput(status));
}

TEST(StandardOutputDeathTest, AReportThatAFullDiskCutsShortIsAFailure) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);

  EXPECT_EXIT(RunWith(full, 0), ExitedWithCode(1),
              "eidolon: cannot write to standard output \\(/dev/full\\): No space left on device");
  EXPECT_EXIT(RunWith(full, 3), ExitedWithCode(1), "No space left on device");
}

TEST(StandardOutputDeathTest, AClosedStandardOutputIsAFailureAndNoOtherFileTakesItsPlace) {
  const auto close_and_print = [] {
    close(STDOUT_FILENO);
    ReserveStandardStreams();
    if (open("/dev/zero", O_RDWR) <= STDERR_FILENO) std::_Exit(9);
    RunWith(-1, 0);
  };

  EXPECT_EXIT(close_and_print(), ExitedWithCode(1),
              "cannot write to standard output: it is closed");
}

TEST(StandardOutputDeathTest, AClosedStandardOutputMattersToNobodyWhoPrintsNothing) {
  const auto close_and_end = [] {
    close(STDOUT_FILENO);
    ReserveStandardStreams();
    std::_Exit(FinishOutput(0));
  };

  EXPECT_EXIT(close_and_end(), ExitedWithCode(0), "");
}

TEST(StandardOutputDeathTest, APipeThatNobodyReadsIsSilent) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);

  EXPECT_EXIT(RunWith(ends[1], 0), ExitedWithCode(141), "^$");
}

TEST(StandardOutputDeathTest, WhatArrivesLeavesTheStatusAlone) {
  const int null = open("/dev/null", O_WRONLY);

  EXPECT_EXIT(RunWith(null, 0), ExitedWithCode(0), "^$");
  EXPECT_EXIT(RunWith(null, 3), ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace eidolon::base
