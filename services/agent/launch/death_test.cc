#include "services/agent/launch/death.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace eidolon::agent::launch {
namespace {

// A child that does `what`, has ended, and was not collected.
template <typename What>
pid_t EndedChild(What what) {
  const pid_t child = fork();
  if (child == 0) {
    what();
    _exit(0);
  }
  siginfo_t information{};
  waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);
  return child;
}

TEST(DeathTest, ReadsTheStatusOfAProcessThatNobodyCollected) {
  const pid_t child = EndedChild([] { _exit(7); });

  const Death death = LookForDeath(child);
  waitpid(child, nullptr, 0);

  EXPECT_EQ(death.state, LifeState::kDead);
  EXPECT_EQ(death.status.Text(), "exit status 7");
}

TEST(DeathTest, ReadsTheSignal) {
  const pid_t child = EndedChild([] { kill(getpid(), SIGKILL); });

  const Death death = LookForDeath(child);
  waitpid(child, nullptr, 0);

  EXPECT_EQ(death.status.Text(), "killed by signal 9 (SIGKILL)");
}

TEST(DeathTest, KnowsTheLivingAndTheVanished) {
  EXPECT_EQ(LookForDeath(getpid()).state, LifeState::kAlive);
  const pid_t child = EndedChild([] {});
  waitpid(child, nullptr, 0);

  EXPECT_EQ(LookForDeath(child).state, LifeState::kVanished);
}

TEST(DeathTest, AnObservedProcessKeepsItsStatusAfterItsParentHasCollectedIt) {
  utsname kernel{};
  uname(&kernel);
  int major = 0;
  int minor = 0;
  ASSERT_EQ(std::sscanf(kernel.release, "%d.%d", &major, &minor), 2);
  if (std::pair(major, minor) < std::pair(6, 15)) {
    GTEST_SKIP() << "Linux " << kernel.release << " forgets a process that was collected";
  }
  const pid_t child = EndedChild([] { _exit(7); });
  const ObservedProcess observed(child);
  EXPECT_EQ(observed.Look().status.Text(), "exit status 7");
  waitpid(child, nullptr, 0);

  EXPECT_EQ(observed.Look().state, LifeState::kDead);
  EXPECT_EQ(observed.Look().status.Text(), "exit status 7");
}

TEST(DeathTest, AnObservedProcessThatWasGoneAtOnceHasVanished) {
  const pid_t child = EndedChild([] {});
  waitpid(child, nullptr, 0);

  EXPECT_EQ(ObservedProcess(child).Look().state, LifeState::kVanished);
  EXPECT_EQ(ObservedProcess(getpid()).Look().state, LifeState::kAlive);
}

}  // namespace
}  // namespace eidolon::agent::launch
