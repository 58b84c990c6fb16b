#include "services/agent/launch/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace eidolon::agent::launch {
namespace {

// A child that sleeps or spins until it is killed.
class Child {
 public:
  explicit Child(bool spins) : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) {
      if (!spins) pause();
    }
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void Wait(int ms) { poll(nullptr, 0, ms); }

TEST(ProcessTreeTest, FindsChildren) {
  const Child child(/*spins=*/false);

  const auto found = DescendantsOf(getpid());

  EXPECT_NE(std::find(found.begin(), found.end(), child.pid()), found.end());
}

TEST(ProcessTreeTest, ASleepingProcessLooksTheSameTwice) {
  const Child child(/*spins=*/false);
  Wait(100);

  const Activity first = LookAt({child.pid()});
  Wait(10);

  EXPECT_TRUE(first.all_asleep);
  EXPECT_EQ(LookAt({child.pid()}), first);
}

TEST(ProcessTreeTest, ABusyProcessIsNotAsleep) {
  const Child child(/*spins=*/true);
  Wait(20);

  EXPECT_FALSE(LookAt({child.pid()}).all_asleep);
}

TEST(ProcessTreeTest, AProcessThatIsGoneHasNoName) {
  EXPECT_EQ(NameOf(-1), "");
  EXPECT_NE(NameOf(getpid()), "");
}

}  // namespace
}  // namespace eidolon::agent::launch
