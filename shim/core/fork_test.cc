// Whether a fork can have a session of its own, by what its parent did.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/core/fake_agent.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

// What a fork says; it ends at once.
template <typename Question>
bool InFork(Question&& question) {
  const pid_t child = fork();
  if (child == 0) _exit(question() ? 1 : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

bool MayConnect() { return Session::Existing() == nullptr && !Session::WasWanted(); }

// One test: a process's session stays what it is.
TEST(ForkTest, AForkMayConnectUntilItsParentUsesGpus) {
  FakeAgent::Start();
  ASSERT_NE(Session::GetForQueries(), nullptr);
  EXPECT_FALSE(Session::UsesGpus());
  EXPECT_TRUE(InFork(MayConnect));
  EXPECT_NE(Session::Existing(), nullptr);

  ASSERT_NE(Session::Get(), nullptr);
  EXPECT_TRUE(Session::UsesGpus());
  EXPECT_FALSE(InFork(MayConnect));
}

}  // namespace
}  // namespace eidolon::shim::core
