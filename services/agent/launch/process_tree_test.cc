#include "services/agent/launch/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace eidolon::agent::launch {
namespace {

// A child that sleeps until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessTreeTest, FindsChildren) {
  const Child child;

  const auto found = DescendantsOf(getpid());

  EXPECT_NE(std::find(found.begin(), found.end(), child.pid()), found.end());
}

TEST(ProcessTreeTest, FindsParents) {
  const Child child;

  const auto found = AncestorsOf(child.pid());

  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], getpid());
  EXPECT_EQ(found[1], getppid());
  EXPECT_TRUE(AncestorsOf(-1).empty());
}

TEST(ProcessTreeTest, AProcessThatIsGoneHasNoName) {
  EXPECT_EQ(NameOf(-1), "");
  EXPECT_NE(NameOf(getpid()), "");
}

}  // namespace
}  // namespace eidolon::agent::launch
