#include "services/runtime/process/confinement.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

namespace eidolon::process {
namespace {

int Score() {
  int score = 0;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  return score;
}

// What `act` returns in a process of its own: what it takes upon itself lasts.
int InAnotherProcess(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ConfinementTest, NewPrivilegesAreRenounced) {
  EXPECT_EQ(InAnotherProcess([] {
              RenounceNewPrivileges();
              return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
            }),
            1);
}

TEST(ConfinementTest, TheScoreRisesUpToItsEnd) {
  const int before = Score();

  EXPECT_EQ(InAnotherProcess([before] {
              SacrificeFirst();
              const bool once = Score() == std::min(before + kSacrificePoints, 1000);
              SacrificeFirst();
              SacrificeFirst();
              return once && Score() == 1000 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(Score(), before);
}

}  // namespace
}  // namespace eidolon::process
