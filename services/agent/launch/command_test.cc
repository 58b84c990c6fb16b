#include "services/agent/launch/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/process/process_tree.h"

namespace eidolon::agent::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Recorder final : public CommandObserver {
 public:
  void Line(OutputStream stream, std::string text) override {
    const std::lock_guard guard(mutex_);
    (stream == OutputStream::kStdout ? out_ : err_).push_back(std::move(text));
    changed_.notify_all();
  }
  void Exited(ExitStatus status) override {
    const std::lock_guard guard(mutex_);
    status_ = status;
    changed_.notify_all();
  }
  ExitStatus WaitExit() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }
  void WaitLine() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !out_.empty(); });
  }
  std::vector<std::string> out() {
    const std::lock_guard guard(mutex_);
    return out_;
  }
  std::vector<std::string> err() {
    const std::lock_guard guard(mutex_);
    return err_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> out_, err_;
  std::optional<ExitStatus> status_;
};

base::Result<std::unique_ptr<Command>> Shell(const std::string& script, Recorder* recorder,
                                             Variables environment = {}) {
  return Command::Start({.command = {"sh", "-c", script},
                         .environment = std::move(environment),
                         .working_directory = "/"},
                        recorder);
}

TEST(CommandTest, WhatItStartsIsScheduledAsABatch) {
  Recorder recorder;
  // The policy is field 41 of proc(5)'s stat; 3 is SCHED_BATCH. Children inherit it.
  const auto command = Shell("awk '{print $41}' /proc/self/stat", &recorder);
  ASSERT_TRUE(command.has_value()) << command.error().message;

  EXPECT_EQ(recorder.WaitExit().code, 0);
  EXPECT_THAT(recorder.out(), ElementsAre("3"));
}

// A process of another user could not be ended with the command.
TEST(CommandTest, WhatItStartsGainsNoPrivilegesAndGoesFirstWhenMemoryRunsShort) {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> own;
  Recorder recorder;

  const auto command =
      Shell("sh -c 'grep NoNewPrivs /proc/self/status; cat /proc/self/oom_score_adj'", &recorder);

  ASSERT_TRUE(command.has_value()) << command.error().message;
  EXPECT_EQ(recorder.WaitExit().code, 0);
  EXPECT_THAT(recorder.out(),
              ElementsAre("NoNewPrivs:\t1",
                          std::to_string(std::min(own + process::kSacrificePoints, 1000))));
}

TEST(CommandTest, ReportsLinesOfBothStreamsAndTheExitStatus) {
  Recorder recorder;
  const auto command = Shell("echo one; echo two >&2; printf rest; exit 3", &recorder);
  ASSERT_TRUE(command.has_value()) << command.error().message;

  EXPECT_EQ(recorder.WaitExit().Text(), "exit status 3");
  EXPECT_THAT(recorder.out(), ElementsAre("one", "rest"));
  EXPECT_THAT(recorder.err(), ElementsAre("two"));
}

TEST(CommandTest, NamesTheSignalThatKilledIt) {
  Recorder recorder;
  const auto command = Shell("kill -9 $$", &recorder);

  const ExitStatus status = recorder.WaitExit();

  EXPECT_EQ(status.Text(), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(status.code, 137);
}

TEST(CommandTest, AddsVariablesAndKeepsTheRest) {
  Recorder recorder;
  const auto command = Shell("echo $WORLD; pwd", &recorder, {{"WORLD", "8"}});
  recorder.WaitExit();

  EXPECT_THAT(recorder.out(), ElementsAre("8", "/"));
}

TEST(CommandTest, InheritsOnlyItsStandardStreams) {
  const int leaking = dup(STDERR_FILENO);
  Recorder recorder;
  const auto command =
      Shell("[ -e /proc/self/fd/" + std::to_string(leaking) + " ] && echo leaked; true", &recorder);
  recorder.WaitExit();

  EXPECT_TRUE(recorder.out().empty());
  close(leaking);
}

std::vector<int> OpenDescriptors() {
  std::vector<int> open;
  for (int descriptor = 0; descriptor < 4096; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) open.push_back(descriptor);
  }
  return open;
}

TEST(CommandTest, APipeThatCannotBeMadeLeavesNoOtherOpen) {
  // Fills the gaps, so that the limit below leaves room for two pipes of the three.
  std::vector<int> held;
  while (held.empty() || held.back() < OpenDescriptors().back()) held.push_back(dup(STDERR_FILENO));
  const std::vector<int> before = OpenDescriptors();
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit tight = usual;
  tight.rlim_cur = static_cast<rlim_t>(before.back()) + 6;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Recorder recorder;

  const auto command = Shell("true", &recorder);

  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_FALSE(command.has_value());
  EXPECT_THAT(command.error().message, HasSubstr("cannot make a pipe"));
  EXPECT_EQ(OpenDescriptors(), before);
  for (const int descriptor : held) close(descriptor);
}

TEST(CommandTest, AProgramThatDoesNotExistIsNamed) {
  Recorder recorder;
  const auto command = Command::Start({.command = {"no-such-program"}}, &recorder);

  ASSERT_FALSE(command.has_value());
  EXPECT_THAT(command.error().message, HasSubstr("'no-such-program' was not found in PATH"));
}

TEST(CommandTest, AFolderThatDoesNotExistIsNamed) {
  Recorder recorder;
  const auto command =
      Command::Start({.command = {"true"}, .working_directory = "/no/such/folder"}, &recorder);

  ASSERT_FALSE(command.has_value());
  EXPECT_THAT(command.error().message, HasSubstr("/no/such/folder"));
}

TEST(CommandTest, AnEmptyCommandIsRefused) {
  Recorder recorder;
  EXPECT_FALSE(Command::Start({}, &recorder).has_value());
}

TEST(CommandTest, StopEndsEverythingThatWasStarted) {
  Recorder recorder;
  auto command = Shell("trap '' TERM; (setsid sleep 1000 &) ; echo ready; sleep 1000", &recorder);
  ASSERT_TRUE(command.has_value());
  recorder.WaitLine();

  (*command)->Stop(/*grace_ms=*/100);

  EXPECT_TRUE(process::DescendantsOf(getpid()).empty());
  EXPECT_EQ(recorder.WaitExit().signal, SIGKILL);
}

TEST(CommandTest, StopEndsWhatOutlivedTheCommand) {
  Recorder recorder;
  auto command = Shell("setsid sleep 1000 & echo done", &recorder);
  ASSERT_TRUE(command.has_value());
  EXPECT_TRUE(recorder.WaitExit().ok());

  (*command)->Stop(/*grace_ms=*/100);

  EXPECT_TRUE(process::DescendantsOf(getpid()).empty());
}

TEST(CommandTest, StopLetsAProgramEndByItself) {
  Recorder recorder;
  auto command =
      Shell("trap 'echo bye; exit 0' TERM; echo ready; while true; do sleep 0.05; done", &recorder);
  recorder.WaitLine();

  (*command)->Stop(/*grace_ms=*/5000);

  EXPECT_TRUE(recorder.WaitExit().ok());
  EXPECT_THAT(recorder.out(), ElementsAre("ready", "bye"));
}

TEST(CommandTest, AProcessThatOutlivesTheCommandDoesNotHideItsEnd) {
  Recorder recorder;
  const base::SystemClock clock;
  const std::int64_t before = clock.MonotonicNs();
  auto command = Shell("sleep 1000 & echo done", &recorder);

  EXPECT_TRUE(recorder.WaitExit().ok());
  EXPECT_LT(clock.MonotonicNs() - before, 60'000'000'000) << "not the 1000 s of the sleep";
}

TEST(CommandTest, ProgressBarsAndLongLinesComeInParts) {
  Recorder recorder;
  auto command = Shell("printf 'a\\rb\\r\\n'; head -c 70000 /dev/zero | tr '\\0' x", &recorder);
  recorder.WaitExit();

  const auto lines = recorder.out();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_EQ(lines[1], "b");
  EXPECT_EQ(lines[3].size(), 65536u);
}

}  // namespace
}  // namespace eidolon::agent::launch
