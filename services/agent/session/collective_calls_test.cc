#include "services/agent/session/collective_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/agent/session/graph_table.h"
#include "services/agent/session/parts_fixture.h"
#include "services/agent/session/prepared_call.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using ::testing::HasSubstr;
using wire::RecordKind;

class CollectiveCallsTest : public PartsFixture {
 protected:
  void Join(std::uint32_t id, std::uint64_t service) {
    wire::CommunicatorInit init{};
    init.slot = 1;
    init.communicator = id;
    init.size = 2;
    const auto record = View(RecordKind::kCommunicatorInit, init);
    ASSERT_TRUE(communicators_.CheckJoin(record).has_value());
    communicators_.Join(record);
    network::v1::Joined joined;
    joined.set_request(1);
    joined.set_communicator(service);
    joined.set_size(2);
    joined.set_rank(1);
    joined.set_finish_picoseconds(300);
    communicators_.OnJoined(joined);
  }
  static wire::CommunicationOp AllReduce(std::uint64_t sequence) {
    return {.kind = wire::CommunicationKind::kAllReduce,
            .data_type = 7,
            .reduction = 0,
            .peer = -1,
            .count = 2,
            .bytes = 8,
            .sequence = sequence,
            .payload_bytes = 0,
            .in_place = 0};
  }
  void Leave(std::uint32_t id) {
    wire::CommunicatorRecord leave{};
    leave.communicator = id;
    ASSERT_TRUE(communicators_.Leave(View(RecordKind::kCommunicatorDestroy, leave)).has_value());
  }
  // A question for the bytes of a result; its slot is taken.
  wire::WaitRecord ValuesOf(std::uint32_t id, std::uint64_t sequence, std::uint32_t slot) {
    wire::WaitRecord question{};
    question.slot = slot;
    question.id = id;
    question.id2 = sequence;
    EXPECT_TRUE(intake_.TakeSlot(View(RecordKind::kCollectiveValues, question)).has_value());
    return question;
  }
  device::Collective Issue(std::uint64_t sequence) {
    const wire::CommunicationOp op = AllReduce(sequence);
    auto prepared = calls_.Prepare(communicators_.at(5), {&op, 1}, {});
    return calls_.Issue(5, &(**prepared)[0]);
  }
  void CollectiveReady(std::uint64_t token, SimTime ready) override { calls_.Post(token, ready); }
  void CollectiveBounded(std::uint64_t token, SimTime ready) override {
    calls_.TellBound(token, ready);
  }

  Communicators communicators_{1, 0, &host_, &intake_, &replies_};
  CollectiveCalls calls_{&host_, &engine_, &communicators_};
};

TEST_F(CollectiveCallsTest, ASplitThatGivesARankOfAFoldedJobNothingIsAnsweredAtOnce) {
  Join(5, 77);
  const std::size_t sent = host_.sent.size();
  const auto split = [&](std::int32_t color) {
    wire::CommunicatorSplit record{};
    record.slot = 1;
    record.parent = 5;
    record.communicator = 6;
    record.color = color;
    return communicators_.Split(View(RecordKind::kCommunicatorSplit, record));
  };
  communicators_.at(5).split_ps = 500;
  ASSERT_TRUE(split(-1).has_value());
  EXPECT_EQ(host_.sent.size(), sent) << "nobody need hear of it";
  ASSERT_TRUE(split(3).has_value()) << "its slot is free again";
  EXPECT_EQ(host_.sent.size(), sent + 1);
}

TEST_F(CollectiveCallsTest, ACommunicatorCanBeUsedOnceItIsJoined) {
  wire::CommunicatorInit init{};
  init.communicator = 5;
  const auto record = View(RecordKind::kCommunicatorInit, init);
  ASSERT_TRUE(communicators_.CheckJoin(record).has_value());
  communicators_.Join(record);

  EXPECT_FALSE(communicators_.Find(5).has_value());
  EXPECT_THAT(communicators_.CheckJoin(record).error().message,
              HasSubstr("communicator 5 exists already"));
  EXPECT_TRUE(host_.horizon().HasNetworkWait());
}

TEST_F(CollectiveCallsTest, AJoinTellsPlaceAndTime) {
  Join(5, 77);

  ASSERT_TRUE(communicators_.Find(5).has_value());
  EXPECT_TRUE(writer_.IsAnswered(1));
  EXPECT_EQ(SlotOf(1).extra, std::uint64_t{1} << 32 | 2);
  EXPECT_EQ(replies_.last_told().host_clock, SimTime{300});
}

TEST_F(CollectiveCallsTest, CallsAreNumberedAndCommittedOnce) {
  Join(5, 77);
  const auto first = Issue(0);
  const auto second = Issue(1);
  EXPECT_NE(first.token, second.token);
  ASSERT_TRUE(engine_.Issue({}, first).has_value());
  ASSERT_TRUE(engine_.Issue({}, second).has_value());
  ASSERT_EQ(host_.sent.size(), 4u);  // Join, two issues, one post: the second has to wait.
  EXPECT_EQ(host_.sent[2].issue().sequence(), 1u);
  EXPECT_EQ(host_.sent[3].post().sequence(), 0u);
  const Commitment commitment{
      .communicator = 77, .sequence = 0, .start = SimTime{10}, .finish = SimTime{90}, .basis = 3};

  EXPECT_TRUE(calls_.Commit(commitment));

  EXPECT_EQ(calls_.resolving().basis, 3u);
  EXPECT_FALSE(calls_.Commit(commitment));
  EXPECT_EQ(host_.sent.back().post().sequence(), 1u);
}

TEST_F(CollectiveCallsTest, ASendThatWaitsTellsHowEarlyItCanBeReached) {
  Join(5, 77);
  ASSERT_TRUE(engine_.Issue({}, Issue(0)).has_value());
  wire::CommunicationOp op = AllReduce(1);
  op.kind = wire::CommunicationKind::kSend;
  op.peer = 0;
  auto prepared = calls_.Prepare(communicators_.at(5), {&op, 1}, {});
  const device::Collective send = calls_.Issue(5, &(**prepared)[0]);
  ASSERT_TRUE(send.tells_bound);
  ASSERT_TRUE(engine_.Issue({}, send).has_value());

  ASSERT_TRUE(host_.sent.back().has_not_before());
  EXPECT_EQ(host_.sent.back().not_before().communicator(), 77u);
  EXPECT_EQ(host_.sent.back().not_before().sequence(), 0u);
  EXPECT_TRUE(host_.sent.back().not_before().point_to_point());
}

TEST_F(CollectiveCallsTest, AReceiveIsBoundedByWhatTheNetworkKnowsOfItsSender) {
  Join(5, 77);
  wire::CommunicationOp op = AllReduce(1);
  op.kind = wire::CommunicationKind::kReceive;
  op.peer = 0;
  auto prepared = calls_.Prepare(communicators_.at(5), {&op, 1}, {});
  ASSERT_TRUE(engine_.Issue({}, calls_.Issue(5, &(**prepared)[0])).has_value());
  network::v1::NotBefore bound;
  bound.set_communicator(77);
  bound.set_rank(1);
  bound.set_end_picoseconds(7'000'000);

  EXPECT_TRUE(calls_.Bound(bound));

  EXPECT_EQ(engine_.StreamEnd(0, 0, std::nullopt)->not_before, SimTime{7'000'000});
  bound.set_sequence(1);
  EXPECT_FALSE(calls_.Bound(bound)) << "no such call is open";
  bound.set_communicator(78);
  EXPECT_FALSE(calls_.Bound(bound));
}

TEST_F(CollectiveCallsTest, ACallTellsWhereItIsMadeAndWhatWasLaunchedBeforeIt) {
  Join(5, 77);
  const wire::CommunicationOp op = AllReduce(0);
  auto prepared = calls_.Prepare(communicators_.at(5), {&op, 1}, {});
  (**prepared)[0].site = "train.py:40";
  calls_.NoteLaunch(7);
  calls_.NoteLaunch(8);
  calls_.Issue(5, &(**prepared)[0]);
  const network::v1::Issue first = host_.sent.back().issue();
  calls_.NoteLaunch(8);
  calls_.NoteLaunch(7);
  Issue(1);
  const network::v1::Issue second = host_.sent.back().issue();
  Issue(2);
  const network::v1::Issue third = host_.sent.back().issue();

  EXPECT_EQ(first.call_site(), "train.py:40");
  EXPECT_EQ(first.launches(), 2u);
  EXPECT_EQ(second.launches(), 2u);
  EXPECT_NE(first.launched(), second.launched()) << "the order counts";
  EXPECT_EQ(second.call_site(), "");
  EXPECT_EQ(third.launches(), 0u);
}

TEST_F(CollectiveCallsTest, WhatIsOpenIsToldByItsOldestCall) {
  Join(5, 77);
  EXPECT_EQ(calls_.DescribeOpen(), "");

  Issue(0);
  Issue(1);

  EXPECT_EQ(calls_.DescribeOpen(),
            "; not finished: call 0 (COLLECTIVE_KIND_ALL_REDUCE) of communicator 5");
}

TEST_F(CollectiveCallsTest, ACommunicatorThatIsLeftStaysUntilItsCallsEnd) {
  Join(5, 77);
  Issue(0);
  wire::CommunicatorRecord leave{};
  leave.communicator = 5;

  ASSERT_TRUE(communicators_.Leave(View(RecordKind::kCommunicatorDestroy, leave)).has_value());

  EXPECT_TRUE(communicators_.all().contains(5));
}

TEST_F(CollectiveCallsTest, ResultsOfACommunicatorThatWasLeftCanStillBeRead) {
  Join(5, 77);
  ASSERT_TRUE(engine_.Issue({}, Issue(0)).has_value());
  network::v1::Values values;
  values.set_communicator(77);
  values.set_rank(1);
  values.set_known(true);
  values.set_payload("12345678");
  ASSERT_TRUE(communicators_.OnValues(values));
  ASSERT_TRUE(calls_.Commit({.communicator = 77, .sequence = 0}));
  Leave(5);

  ASSERT_TRUE(communicators_.AskValues(ValuesOf(5, 0, 2)).has_value());
  ASSERT_TRUE(communicators_.AskValues(ValuesOf(5, 9, 3)).has_value());

  EXPECT_EQ(SlotOf(2).status, wire::ReplyStatus::kOk);
  EXPECT_EQ(SlotOf(2).payload_bytes, 8u);
  EXPECT_EQ(SlotOf(3).status, wire::ReplyStatus::kInvalid);
  EXPECT_THAT(communicators_.Find(5).error().message,
              HasSubstr("communicator 5 was destroyed before this use"));
}

TEST_F(CollectiveCallsTest, AResultThatNeverCameIsLostOnceItsCommunicatorIsLeft) {
  Join(5, 77);
  ASSERT_TRUE(engine_.Issue({}, Issue(0)).has_value());
  ASSERT_TRUE(calls_.Commit({.communicator = 77, .sequence = 0}));
  Leave(5);

  ASSERT_TRUE(communicators_.AskValues(ValuesOf(5, 0, 2)).has_value());

  EXPECT_EQ(SlotOf(2).status, wire::ReplyStatus::kInvalid);
}

TEST_F(CollectiveCallsTest, TheOldestOfManyCommunicatorsThatWereLeftAreForgotten) {
  const auto most = static_cast<std::uint32_t>(Communicators::kLeftKept);
  for (std::uint32_t id = 10; id < 10 + most + 2; ++id) {
    Join(id, 100 + id);
    Leave(id);
  }

  ASSERT_TRUE(communicators_.AskValues(ValuesOf(10, 0, 2)).has_value());

  EXPECT_EQ(communicators_.all().size(), most);
  EXPECT_EQ(communicators_.all().begin()->first, 12u);
  EXPECT_EQ(SlotOf(2).status, wire::ReplyStatus::kInvalid);
}

TEST_F(CollectiveCallsTest, ATemplateIsDefinedOnceAndKeepsNoValues) {
  wire::CommunicationOp op = AllReduce(0);
  op.payload_bytes = 8;

  ASSERT_TRUE(calls_.DefineTemplate(9, 5, {&op, 1}).has_value());

  EXPECT_EQ(calls_.FindTemplate(9)->ops[0].payload_bytes, 0u);
  EXPECT_EQ(calls_.FindTemplate(8), nullptr);
  EXPECT_THAT(calls_.DefineTemplate(9, 5, {&op, 1}).error().message,
              HasSubstr("template 9 exists already"));
}

TEST_F(CollectiveCallsTest, AGraphKnowsTheCallsOfItsTemplates) {
  WorkDefinitions works(&host_);
  GraphTable graphs(&host_, &engine_, &works, &calls_);
  const std::vector<wire::CommunicationOp> ops = {AllReduce(0), AllReduce(1)};
  ASSERT_TRUE(calls_.DefineTemplate(9, 5, ops).has_value());
  const wire::GraphNode node{wire::GraphNodeKind::kCommunication, 9, 0, 0};
  const std::string_view tail(reinterpret_cast<const char*>(&node), sizeof(node));

  ASSERT_TRUE(graphs.Define(View(RecordKind::kGraphDefine, wire::GraphDefine{{}, 3, 1, 0, 0}, tail))
                  .has_value());

  EXPECT_EQ((*graphs.Find(3))->nodes.size(), 2u);
  EXPECT_THAT((*graphs.Find(3))->templates, ::testing::ElementsAre(9));
  EXPECT_TRUE(graphs.Destroy(3).has_value());
  EXPECT_THAT(graphs.Find(3).error().message, HasSubstr("graph 3 does not exist"));
  EXPECT_FALSE(graphs.Destroy(3).has_value());
}

TEST_F(CollectiveCallsTest, AGraphOfUnknownWorkIsDamage) {
  WorkDefinitions works(&host_);
  GraphTable graphs(&host_, &engine_, &works, &calls_);
  const wire::GraphNode node{wire::GraphNodeKind::kWork, 4, 0, 0};
  const std::string_view tail(reinterpret_cast<const char*>(&node), sizeof(node));

  EXPECT_THAT(graphs.Define(View(RecordKind::kGraphDefine, wire::GraphDefine{{}, 3, 1, 0, 0}, tail))
                  .error()
                  .message,
              HasSubstr("node 0 names work 4, which was not defined"));
}

}  // namespace
}  // namespace eidolon::agent::session
