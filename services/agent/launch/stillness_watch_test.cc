#include "services/agent/launch/stillness_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "services/base/clock.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMs = 1'000'000;
constexpr pid_t kProcess = 70;

// A process file system with one process, whose threads a test writes.
class StillnessTest : public ::testing::Test {
 protected:
  ~StillnessTest() override { fs::remove_all(folder_); }

  struct Thread {
    pid_t number = kProcess;
    char state = 'S';
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
    int slices = 0;
  };
  void Write(const Thread& thread) {
    const fs::path task =
        folder_ / std::to_string(kProcess) / "task" / std::to_string(thread.number);
    fs::create_directories(task);
    std::ofstream(task / "stat") << thread.number << " (a b) c) " << thread.state << " 1 1";
    std::ofstream(task / "schedstat")
        << thread.ran_ns << " " << thread.waited_ns << " " << thread.slices;
  }
  Stillness LookAfter(std::int64_t ms, const std::set<pid_t>& leaders = {}) {
    now_ns_ += ms * kMs;
    return watch_.Look({kProcess}, leaders, now_ns_);
  }

  static fs::path MakeFolder() {
    char path[] = "/tmp/eidolon-proc-XXXXXX";
    return mkdtemp(path);
  }

  const fs::path folder_ = MakeFolder();
  StillnessWatch watch_{folder_.string()};
  std::int64_t now_ns_ = 0;
};

TEST_F(StillnessTest, ThreadsThatSleepAreStill) {
  Write({});
  Write({.number = 71});

  EXPECT_EQ(LookAfter(10), Stillness::kStill);
  EXPECT_EQ(LookAfter(10), Stillness::kStill);
}

TEST_F(StillnessTest, AThreadThatRunsForAMomentPolls) {
  Write({.number = 71, .ran_ns = 1'000, .slices = 1});
  LookAfter(10);
  Write({.number = 71, .state = 'R', .ran_ns = 50'000, .slices = 2});

  EXPECT_EQ(LookAfter(200), Stillness::kPolling);
}

TEST_F(StillnessTest, AThreadThatUsesTheProcessorWorksAlsoWhenItSleepsNow) {
  Write({.number = 71});
  LookAfter(10);
  Write({.number = 71, .ran_ns = 40 * kMs, .slices = 9});

  EXPECT_EQ(LookAfter(200), Stillness::kWorking);
}

TEST_F(StillnessTest, AThreadThatOthersKeepFromRunningWorks) {
  Write({.number = 71, .state = 'R'});
  LookAfter(10);

  EXPECT_EQ(LookAfter(200), Stillness::kWorking) << "it never got its turn";

  Write({.number = 71, .state = 'S', .ran_ns = 5 * kMs, .waited_ns = 180 * kMs, .slices = 1});
  EXPECT_EQ(LookAfter(200), Stillness::kWorking) << "it got a small one";
}

TEST_F(StillnessTest, AThreadThatWaitsForADiskWorks) {
  Write({.number = 71});
  LookAfter(10);
  Write({.number = 71, .state = 'D'});

  EXPECT_EQ(LookAfter(10), Stillness::kWorking);
}

TEST_F(StillnessTest, AThreadThatWorkedIsLookedAtAlone) {
  Write({});
  Write({.number = 71});
  LookAfter(10);
  EXPECT_FALSE(watch_.WorksStill(now_ns_ += 10 * kMs)) << "nobody worked";

  Write({.number = 71, .ran_ns = 40 * kMs, .slices = 9});
  EXPECT_EQ(LookAfter(200), Stillness::kWorking);
  Write({.number = 71, .ran_ns = 48 * kMs, .slices = 10});
  EXPECT_TRUE(watch_.WorksStill(now_ns_ += 10 * kMs));
  EXPECT_FALSE(watch_.WorksStill(now_ns_ += 10 * kMs)) << "it has not run since";
  EXPECT_EQ(LookAfter(10), Stillness::kStill);
}

TEST_F(StillnessTest, AThreadThatHasEndedWorksNoMore) {
  Write({.number = 71});
  LookAfter(10);
  Write({.number = 71, .ran_ns = 40 * kMs, .slices = 9});
  EXPECT_EQ(LookAfter(200), Stillness::kWorking);
  fs::remove_all(folder_ / std::to_string(kProcess) / "task" / "71");

  EXPECT_FALSE(watch_.WorksStill(now_ns_ += 10 * kMs));
}

TEST_F(StillnessTest, ALeaderThatHadATurnIsNotStill) {
  Write({});
  Write({.number = 71});
  LookAfter(10, {kProcess});

  Write({.number = 71, .ran_ns = 1'000, .slices = 1});
  EXPECT_EQ(LookAfter(5, {kProcess}), Stillness::kStill) << "another thread";
  Write({.ran_ns = 1'000, .slices = 1});
  EXPECT_EQ(LookAfter(5, {kProcess}), Stillness::kPolling);
  EXPECT_EQ(LookAfter(5, {kProcess}), Stillness::kStill);
}

TEST_F(StillnessTest, TheThreadThatLooksDoesNotCount) {
  Write({});
  Write({.number = static_cast<pid_t>(syscall(SYS_gettid)), .state = 'R'});

  EXPECT_EQ(LookAfter(10), Stillness::kStill);
}

TEST_F(StillnessTest, AStoppedThreadNeitherSleepsNorWorks) {
  Write({});
  Write({.number = 71, .state = 'T'});
  LookAfter(10);

  EXPECT_EQ(LookAfter(200), Stillness::kStopped);
  EXPECT_FALSE(watch_.moved());

  Write({.number = 71, .state = 'T', .ran_ns = 40 * kMs});
  Write({.number = 72, .state = 'D'});
  EXPECT_EQ(LookAfter(200), Stillness::kWorking) << "another thread works";
  EXPECT_TRUE(watch_.moved());
}

TEST_F(StillnessTest, PollersMoveNothing) {
  Write({.ran_ns = 1'000, .slices = 1});
  LookAfter(10);
  Write({.state = 'R', .ran_ns = 50'000, .slices = 2});

  EXPECT_EQ(LookAfter(200), Stillness::kPolling);
  EXPECT_FALSE(watch_.moved());
}

TEST_F(StillnessTest, BytesToADiskMoveWithoutAnyThreadThatWorks) {
  const auto write = [&](int bytes) {
    std::ofstream(folder_ / std::to_string(kProcess) / "io")
        << "rchar: 7\nwchar: 8\nread_bytes: 0\nwrite_bytes: " << bytes << "\n";
  };
  Write({});
  write(4096);
  LookAfter(10);
  EXPECT_FALSE(watch_.moved());

  write(8192);
  EXPECT_EQ(LookAfter(200), Stillness::kStill);
  EXPECT_TRUE(watch_.moved());

  LookAfter(200);
  EXPECT_FALSE(watch_.moved());
}

TEST_F(StillnessTest, ADiskThatNeverAnswersMovesNothing) {
  Write({.state = 'D', .slices = 3});
  LookAfter(10);
  LookAfter(200);

  EXPECT_FALSE(watch_.moved());
  Write({.state = 'D', .slices = 4});
  LookAfter(200);
  EXPECT_TRUE(watch_.moved());
}

TEST_F(StillnessTest, ALittleWorkCountsForALeadersMainThreadOnly) {
  const Thread little{.number = 71, .ran_ns = 2 * kMs, .slices = 4};
  Write({});
  Write({.number = 71});
  LookAfter(10, {kProcess});

  Write(little);
  EXPECT_EQ(LookAfter(200, {kProcess}), Stillness::kStill) << "another thread";
  Thread leader = little;
  leader.number = kProcess;
  Write(leader);
  EXPECT_EQ(LookAfter(200, {kProcess}), Stillness::kWorking);
}

TEST(RealStillnessTest, TellsASpinningProcessFromASleepingOne) {
  const auto start = [](bool spins) {
    const pid_t child = fork();
    if (child != 0) return child;
    // A loop without any effect may be left out by the compiler.
    for (std::atomic<std::uint64_t> rounds = 0;; ++rounds) {
      if (!spins) pause();
    }
  };
  const pid_t sleeper = start(false);
  const pid_t spinner = start(true);
  // A machine that others use too may keep both from a processor for a while, and a sanitizer's own
  // thread in the sleeper may run: what counts is that each is recognised soon, and not the other.
  const auto seen_within = [](int looks, pid_t child, Stillness expected) {
    StillnessWatch watch;
    const base::SystemClock clock;
    for (int look = 0; look < looks; ++look) {
      const Stillness seen = watch.Look({child}, {}, clock.MonotonicNs());
      if (look > 0 && seen == expected) return true;
      poll(nullptr, 0, 100);
    }
    return false;
  };

  EXPECT_TRUE(seen_within(50, sleeper, Stillness::kStill));
  EXPECT_TRUE(seen_within(50, spinner, Stillness::kWorking));
  EXPECT_FALSE(seen_within(5, spinner, Stillness::kStill));

  for (const pid_t child : {sleeper, spinner}) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace eidolon::agent::launch
