#include "shim/program/process/resolver_lock.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EIDOLON_THREAD_SANITIZER 1
#endif
#endif

namespace eidolon::shim::process {
namespace {

void LookUpNumber() {
  hostent host{};
  hostent* found = nullptr;
  char text[1024];
  int error = 0;
  gethostbyname_r("127.0.0.1", &host, text, sizeof(text), &found, &error);
}

TEST(ResolverLockTest, IsFreeWhereNobodyLooksUpNames) { EXPECT_TRUE(IsResolverFree()); }

#ifndef EIDOLON_THREAD_SANITIZER  // Its runtime starts no threads in such a child.
// One child in a hundred inherits a lock that is held.
TEST(ResolverLockTest, AChildThatInheritsAHeldLockSaysSoAndTheOthersLookUpNames) {
  constexpr std::int64_t kPatienceNs = 200'000'000;
  constexpr int kHeld = 7;
  std::atomic<bool> ends = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!ends) LookUpNumber();
    });
  }
  int held = 0;
  for (int i = 0; i < 3000 && held < 2; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // Ends a child that hangs.
      if (!IsResolverFree(kPatienceNs)) _exit(kHeld);
      LookUpNumber();
      std::thread(LookUpNumber).join();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "child " << i << " hung";
    held += WIFEXITED(status) && WEXITSTATUS(status) == kHeld ? 1 : 0;
  }
  EXPECT_GT(held, 0);
  ends = true;
  for (std::thread& other : others) other.join();
}
#endif

}  // namespace
}  // namespace eidolon::shim::process
