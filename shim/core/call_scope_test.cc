#include "shim/core/call_scope.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

using ring::CallClass;

class CallTest : public ::testing::Test {
 protected:
  CallTest() : agent_(FakeAgent::Start()) {
    EXPECT_NE(Session::Get(), nullptr);
    agent_.Reset();
  }
  void RaiseFloor(std::uint64_t floor_ps) {
    agent_.cursors().floor_copy_ps.value.store(floor_ps);
    agent_.cursors().floor_ps.value.store(floor_ps);
  }
  FakeAgent& agent_;
};

TEST_F(CallTest, EachCallCostsItsClassInTheFixedModel) {
  const auto before = Now();
  const int answer = Enter("cudaThing", CallClass::kLaunch, -1, [] { return 5; });

  EXPECT_EQ(answer, 5);
  EXPECT_EQ((Now() - before).ps, 1'000'000);
}

TEST_F(CallTest, NestedCallsAreChargedOnce) {
  const auto before = Now();
  Enter("outer", CallClass::kLaunch, -1,
        [] { return Enter("inner", CallClass::kLaunch, -1, [] { return 0; }); });

  EXPECT_EQ((Now() - before).ps, 1'000'000);
}

TEST_F(CallTest, ThreadsThatIssueNothingDoNotMoveTheClock) {
  const auto before = Now();
  std::thread([] { Enter("poll", CallClass::kSynchronize, -1, [] { return 0; }); }).join();

  EXPECT_EQ((Now() - before).ps, 0);
}

TEST_F(CallTest, EventQueriesCostNothingOnceAHelperKeepsPinnedMemoryToo) {
  const auto cost_of_a_query = [] {
    const auto before = Now();
    Enter("cudaEventQuery", CallClass::kEventQuery, -1, [] { return 0; });
    return (Now() - before).ps;
  };

  NotePinnedMemory();
  EXPECT_EQ(cost_of_a_query(), 1'000'000) << "only the main thread keeps some";
  std::thread([] { NotePinnedMemory(); }).join();
  EXPECT_EQ(cost_of_a_query(), 0);

  const auto cost_of_last_error = [] {
    const auto before = Now();
    Enter("cudaGetLastError", CallClass::kQuery, -1, [] { return 0; });
    return (Now() - before).ps;
  };
  NoteFruitlessEventQuery();
  EXPECT_EQ(cost_of_last_error(), 0) << "a part of the query";
  EXPECT_EQ(cost_of_last_error(), 1'000'000);
}

TEST_F(CallTest, TheFloorOfTheAgentIsRespectedAtTheNextCall) {
  const std::uint64_t floor = static_cast<std::uint64_t>(Now().ps) + 9'000'000;
  RaiseFloor(floor);
  Enter("x", CallClass::kQuery, -1, [] { return 0; });

  EXPECT_EQ(Now().ps, static_cast<std::int64_t>(floor) + 1'000'000);
}

TEST_F(CallTest, NoRecordAndNoClockReadLiesBeforeTheFloor) {
  const std::uint64_t floor = static_cast<std::uint64_t>(Now().ps) + 7'000'000;
  RaiseFloor(floor);
  std::thread([] {
    ring::LaunchRecord record{};
    record.header.kind = ring::RecordKind::kLaunch;
    Append(*Session::Get(), record);
  }).join();

  EXPECT_EQ(agent_.Records().back().header().host_clock_ps, floor);
  EXPECT_EQ(Now().ps, static_cast<std::int64_t>(floor));
}

TEST_F(CallTest, TheAgentSeesTheClockAtOnce) {
  AdvanceTo(Now() + base::Duration::Milliseconds(1));

  EXPECT_EQ(static_cast<std::int64_t>(agent_.cursors().clock_ps.value.load()), Now().ps);
}

TEST_F(CallTest, AForkGoesOnFromItsParentsClock) {
  const auto before = Now() + base::Duration::Milliseconds(1);
  AdvanceTo(before);

  EXPECT_EXIT(std::exit(Now() >= before ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST_F(CallTest, AnEscapingExceptionBecomesTheFailureCode) {
  const int answer =
      Enter("bad", CallClass::kQuery, 999, []() -> int { throw std::runtime_error("no"); });

  EXPECT_EQ(answer, 999);
}

TEST_F(CallTest, ARefusedCallIsReportedOncePerName) {
  EXPECT_EQ(Rejected("cudaOddCall", 801), 801);
  EXPECT_EQ(Rejected("cudaOddCall", 801), 801);
  EXPECT_EQ(Rejected("cudaOtherCall", 801), 801);

  EXPECT_EQ(agent_.RecordsOf(ring::RecordKind::kRefusedCall).size(), 2u);
}

}  // namespace
}  // namespace eidolon::shim::core
