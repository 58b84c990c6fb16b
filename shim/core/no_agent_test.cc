// A program outside a job, and one whose agent refuses it; each in a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

TEST(NoAgentTest, OutsideAJobThereIsNoSessionAndNoClock) {
  EXPECT_EXIT(
      {
        unsetenv("EIDOLON_RUN_DIR");
        const int answer = Enter("x", ring::CallClass::kQuery, -1,
                                 [] { return Session::Get() == nullptr ? 100 : 0; });
        std::exit(answer == 100 && Now().ps == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "^$");
}

TEST(NoAgentTest, AMissingServerPageIsNamed) {
  EXPECT_EXIT(
      {
        setenv("EIDOLON_RUN_DIR", "/nonexistent/run", 1);
        std::exit(Session::Get() == nullptr ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "/nonexistent/run/server.page is missing");
}

TEST(NoAgentTest, ARefusalIsPrintedWithItsReason) {
  EXPECT_EXIT(
      {
        FakeAgent::Start({.refuse = true});
        std::exit(Session::Get() == nullptr ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "refused this process: the test refuses");
}

TEST(NoAgentTest, AStrictJobEndsAtTheFirstRefusedCall) {
  EXPECT_EXIT(
      {
        FakeAgent::Start({.strict = true});
        Rejected("cudaOddCall", 801);
      },
      ::testing::ExitedWithCode(70), "cudaOddCall is not simulated");
}

}  // namespace
}  // namespace eidolon::shim::core
