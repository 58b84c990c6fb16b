#include "services/agent/session/activity_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "services/agent/session/parts_fixture.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using wire::ActivityRequest;

class ActivityLogTest : public PartsFixture {
 protected:
  void Ask(ActivityRequest request, std::uint64_t clock_ps = 0) {
    wire::WaitRecord question{{}, 2, 0, static_cast<std::uint64_t>(request), 0};
    question.header.host_clock_ps = clock_ps;
    log_.Answer(question, &replies_);
  }
  std::vector<wire::CompletedOperation> Take(std::uint64_t clock_ps) {
    Ask(ActivityRequest::kTake, clock_ps);
    std::vector<wire::CompletedOperation> taken(SlotOf(2).payload_bytes /
                                                sizeof(wire::CompletedOperation));
    if (taken.empty()) return taken;
    std::memcpy(taken.data(), wire::PayloadOf(segment_.base(), 2), SlotOf(2).payload_bytes);
    return taken;
  }
  static device::ResolvedOp Op(std::uint64_t sequence, std::int64_t start, std::int64_t finish,
                               device::OpKind kind = device::OpKind::kWork) {
    return {.sequence = sequence,
            .stream = 0,
            .device = 0,
            .kind = kind,
            .host_bound = false,
            .tag = 0,
            .ready = SimTime{start - 5},
            .start = SimTime{start},
            .finish = SimTime{finish}};
  }

  ActivityLog log_;
};

TEST_F(ActivityLogTest, KeepsNothingUntilAProfilerWatches) {
  log_.BeginRecord(64, 0);
  log_.Add(Op(0, 10, 20));
  log_.EndRecord(1);

  Ask(ActivityRequest::kStart);
  EXPECT_TRUE(log_.watched());
  EXPECT_TRUE(Take(1000).empty());
}

TEST_F(ActivityLogTest, NamesOperationsByTheirRecordAndPlaceInIt) {
  Ask(ActivityRequest::kStart);
  log_.BeginRecord(64, 7);
  log_.Add(Op(7, 10, 20));
  log_.EndRecord(8);
  log_.BeginRecord(128, 8, {31, 32});
  log_.Add(Op(8, 20, 30));
  log_.Add(Op(9, 20, 40));
  log_.EndRecord(10);

  const auto taken = Take(1000);

  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].record, 64u);
  EXPECT_EQ(taken[0].start_ps, 10u);
  EXPECT_EQ(taken[0].end_ps, 20u);
  EXPECT_EQ(taken[2].record, 128u);
  EXPECT_EQ(taken[2].index, 1u);
  EXPECT_EQ(taken[2].node, 32u);
  EXPECT_TRUE(Take(1000).empty());
}

TEST_F(ActivityLogTest, GivesOperationsOnceTheyEndedAndCollectivesFromWhenTheRankWasReady) {
  Ask(ActivityRequest::kStart);
  log_.BeginRecord(64, 0);
  log_.EndRecord(1);
  log_.BeginRecord(128, 1);
  log_.Add(Op(1, 10, 500));
  log_.EndRecord(2);
  EXPECT_TRUE(Take(100).empty());
  Ask(ActivityRequest::kStop);
  log_.Add(Op(0, 50, 90, device::OpKind::kCollective));  // The network answers later.

  const auto early = Take(100);
  const auto late = Take(500);

  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0].record, 64u);
  EXPECT_EQ(early[0].start_ps, 45u);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].record, 128u);
}

TEST_F(ActivityLogTest, LeavesHostFunctionsOutAndForgetsStalledRecords) {
  Ask(ActivityRequest::kStart);
  log_.BeginRecord(64, 0);
  log_.EndRecord(0);
  log_.BeginRecord(64, 0);
  log_.Add(Op(0, 10, 20, device::OpKind::kCallback));
  log_.Add(Op(1, 20, 30));
  log_.EndRecord(2);

  const auto taken = Take(1000);

  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].index, 1u);
}

TEST_F(ActivityLogTest, CountsWhatItDrops) {
  Ask(ActivityRequest::kStart);
  const auto issued = static_cast<std::uint64_t>(wire::kKeptOperationsMax) + 3;
  log_.BeginRecord(64, 0);
  for (std::uint64_t i = 0; i < issued; ++i) log_.Add(Op(i, 1, 2));
  log_.EndRecord(issued);

  EXPECT_EQ(Take(1000).size(), wire::kOperationsInAnswer);
  EXPECT_EQ(SlotOf(2).value_ps, 1u);
  EXPECT_EQ(SlotOf(2).extra, 3u);
}

TEST_F(ActivityLogTest, RefusesUnknownRequests) {
  Ask(static_cast<ActivityRequest>(9));
  EXPECT_EQ(SlotOf(2).status, wire::ReplyStatus::kInvalid);
}

}  // namespace
}  // namespace eidolon::agent::session
