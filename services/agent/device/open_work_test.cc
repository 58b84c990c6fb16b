#include "services/agent/device/open_work.h"

#include <gtest/gtest.h>

#include "services/agent/device/parts_test.h"

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

class OpenWorkTest : public ::testing::Test {
 protected:
  // A collective with the token that could start at time 10.
  Signal Open(std::uint64_t token) {
    return work_.AddCollective({}, Operation(OpKind::kCollective, {10}), token, communicator_);
  }
  OpenWork::Operation Operation(OpKind kind, SimTime ready) const {
    OpenWork::Operation operation{.owner = owner_};
    operation.op.kind = kind;
    operation.op.ready = ready;
    return operation;
  }

  RecordingSink sink_;
  SignalTable signals_;
  OpenWork work_{&signals_, &sink_};
  const SignalTable::Slot owner_ = signals_.Add();
  const SignalTable::Slot communicator_ = signals_.Add();
  const SignalTable::Slot other_ = signals_.Add();
};

TEST_F(OpenWorkTest, ACollectiveWithoutInputsIsReadyAtOnce) {
  const Signal end = Open(5);

  EXPECT_NE(end.node, 0u);
  EXPECT_EQ(sink_.ready.at(5), SimTime{10});
  EXPECT_EQ(signals_[communicator_].node, end.node);
  EXPECT_EQ(work_.open_operations(), 1u);
}

TEST_F(OpenWorkTest, ACollectiveBehindAnotherBecomesReadyWithItsEnd) {
  const Signal first = Open(5);
  work_.AddCollective(first, Operation(OpKind::kCollective, {10}), 6, communicator_);
  ASSERT_FALSE(work_.ResolveCollective(6, {20}, {30})) << "not ready yet";

  ASSERT_TRUE(work_.ResolveCollective(5, {20}, {30}));

  EXPECT_EQ(sink_.ready.at(6), SimTime{30});
}

TEST_F(OpenWorkTest, WorkStartsAfterItsInputAndTheGap) {
  OpenWork::Operation operation = Operation(OpKind::kWork, {15});
  operation.gap = Duration{2};
  operation.duration = Duration{4};
  work_.AddWork(Open(5), operation);

  work_.ResolveCollective(5, {20}, {30});

  EXPECT_EQ(sink_.ops.at(0).start, SimTime{32});
  EXPECT_EQ(sink_.ops.at(0).finish, SimTime{36});
  EXPECT_EQ(work_.open_operations(), 0u);
}

TEST_F(OpenWorkTest, TheEarliestEndOfOpenWorkGrowsWithWhatItWaitsFor) {
  const Signal first = Open(5);
  OpenWork::Operation operation = Operation(OpKind::kWork, {15});
  operation.gap = Duration{2};
  operation.duration = Duration{4};
  const Signal second = work_.AddWork(first, operation);
  EXPECT_EQ(work_.EarliestEnd(second.node), SimTime{19});

  work_.BoundCollective(5, {40});
  EXPECT_EQ(work_.EarliestEnd(first.node), SimTime{40});
  EXPECT_EQ(work_.EarliestEnd(second.node), SimTime{46});

  work_.ResolveCollective(5, {20}, {50});
  EXPECT_EQ(work_.EarliestEnd(second.node), SimTime{}) << "it has ended";
}

TEST_F(OpenWorkTest, AnAnswerNeverComesBeforeTheCollectiveWasReady) {
  Open(5);

  work_.ResolveCollective(5, {1}, {2});

  EXPECT_EQ(sink_.ops.at(0).start, SimTime{10});
  EXPECT_EQ(sink_.ops.at(0).finish, SimTime{10});
}

TEST_F(OpenWorkTest, TellsEverySlotThatASignalWasAssignedTo) {
  const Signal end = Open(5);
  work_.Assign(owner_, end);
  work_.Assign(other_, end);

  work_.ResolveCollective(5, {20}, {30});

  for (const auto slot : {owner_, communicator_, other_}) {
    EXPECT_EQ(signals_[slot].node, 0u);
    EXPECT_EQ(signals_[slot].at, SimTime{30});
  }
}

TEST_F(OpenWorkTest, AReleasedSlotMayBeHeldByAnotherWhenTheEndComes) {
  work_.Assign(other_, Open(5));
  signals_.Release(other_);
  const auto reused = signals_.Add();
  ASSERT_EQ(reused, other_);

  work_.ResolveCollective(5, {20}, {30});

  EXPECT_EQ(signals_[reused].at, SimTime{});
}

TEST_F(OpenWorkTest, MergesCompleteSignalsWithoutANode) {
  const Signal merged = work_.Merge({.at = {3}, .local = {9}}, {.at = {5}, .local = {4}}, owner_);

  EXPECT_EQ(merged.node, 0u);
  EXPECT_EQ(merged.at, SimTime{5});
  EXPECT_EQ(merged.local, SimTime{9});
}

TEST_F(OpenWorkTest, AJoinEndsWithTheLaterOfItsInputs) {
  const Signal a = Open(5);
  const Signal b = Open(6);
  const Signal both = work_.Merge(a, b, owner_);
  ASSERT_EQ(work_.Watch(both, 42), std::nullopt);
  ASSERT_EQ(work_.open_operations(), 2u) << "a join is not an operation";

  work_.ResolveCollective(6, {20}, {70});
  ASSERT_FALSE(sink_.waits.contains(42));
  work_.ResolveCollective(5, {20}, {30});

  EXPECT_EQ(sink_.waits.at(42), SimTime{70});
}

TEST_F(OpenWorkTest, WatchAnswersACompleteSignalAtOnce) {
  EXPECT_EQ(work_.Watch({.at = {8}}, 42), SimTime{8});
  EXPECT_TRUE(sink_.waits.empty());
}

TEST_F(OpenWorkTest, AWaitEndsNoEarlierThanItsSignal) {
  Signal end = Open(5);
  end.at = {99};
  ASSERT_EQ(work_.Watch(end, 42), std::nullopt);

  work_.ResolveCollective(5, {20}, {30});

  EXPECT_EQ(sink_.waits.at(42), SimTime{99});
}

TEST_F(OpenWorkTest, PostponesCompleteAndOpenSignals) {
  signals_.Put(other_, {.at = {8}, .local = {9}});
  work_.Assign(owner_, Open(5));

  work_.Postpone(other_, Duration{4});
  work_.Postpone(owner_, Duration{4});
  work_.ResolveCollective(5, {20}, {30});

  EXPECT_EQ(signals_[other_].at, SimTime{12});
  EXPECT_EQ(signals_[other_].local, SimTime{13});
  EXPECT_EQ(signals_[owner_].at, SimTime{34});
}

TEST_F(OpenWorkTest, ForgetsATokenThatWasAnswered) {
  Open(5);
  ASSERT_TRUE(work_.ResolveCollective(5, {20}, {30}));

  EXPECT_FALSE(work_.ResolveCollective(5, {20}, {30}));
  EXPECT_FALSE(work_.ResolveCollective(77, {20}, {30}));
}

}  // namespace
}  // namespace eidolon::agent::device
