#include "services/agent/session/replies.h"

#include <gtest/gtest.h>

#include "services/agent/session/parts_fixture.h"

namespace eidolon::agent::session {
namespace {

using base::SimTime;

class RepliesTest : public PartsFixture {};

TEST_F(RepliesTest, AnAnswerEndsTheWaitAndFreesTheSlot) {
  const auto question =
      View(::eidolon::ring::RecordKind::kWaitUntil, ::eidolon::ring::WaitRecord{{}, 3, 0, 0, 0});
  ASSERT_TRUE(intake_.TakeSlot(question).has_value());
  ASSERT_FALSE(intake_.TakeSlot(question).has_value());
  replies_.AwaitNetwork(3, {});

  replies_.Send(3, {.value_ps = 7});

  EXPECT_TRUE(writer_.IsAnswered(3));
  EXPECT_EQ(SlotOf(3).value_ps, 7u);
  EXPECT_FALSE(host_.horizon().HasNetworkWait());
  EXPECT_TRUE(intake_.TakeSlot(question).has_value());
}

TEST_F(RepliesTest, WhoWaitedForValuesWhileOthersWentOnContinuesBehindThem) {
  host_.safe = SimTime{500};
  replies_.AwaitValues(2);
  replies_.Send(2, {});
  EXPECT_EQ(host_.horizon().LowerBound(), SimTime{0}) << "nobody went on";

  replies_.AwaitValues(2);
  host_.horizon().PassOverValueWaits();
  replies_.Send(2, {});

  EXPECT_EQ(host_.horizon().LowerBound(), SimTime{500});
  EXPECT_EQ(::eidolon::ring::CursorsOf(segment_.base())->floor_ps.value.load(), 500u);
}

TEST_F(RepliesTest, TheMomentThatTheProgramKnowsOnlyGrows) {
  replies_.SendTime(1, SimTime{900});
  IssueCollective(1);
  replies_.SendTime(1, SimTime{400});

  EXPECT_EQ(SlotOf(1).value_ps, 400u);
  EXPECT_EQ(replies_.last_told().host_clock, SimTime{900});
  EXPECT_EQ(replies_.last_told().sequence, 1u);
}

TEST_F(RepliesTest, TheProgramWaitsFromItsQuestionToTheMomentThatItLearnsOf) {
  replies_.NoteAsked(1, SimTime{300});
  replies_.SendTime(1, SimTime{900});
  EXPECT_EQ(replies_.waited(), base::Duration{600});
  EXPECT_EQ(replies_.last_told().waited, base::Duration{600});

  replies_.NoteAsked(1, SimTime{1000});
  replies_.SendTime(1, SimTime{950});
  EXPECT_EQ(replies_.waited(), base::Duration{600}) << "what it asked for was over";
}

TEST_F(RepliesTest, ASleepIsWaitedForAlsoWhenItsMomentIsSafeAlready) {
  host_.safe = SimTime{5000};
  replies_.NoteAsked(1, SimTime{300});

  replies_.SendMoment(1, SimTime{900});

  EXPECT_EQ(SlotOf(1).value_ps, 900u);
  EXPECT_EQ(replies_.waited(), base::Duration{600});
}

TEST_F(RepliesTest, WaitsOfTwoThreadsAtOnceAreOne) {
  replies_.NoteAsked(1, SimTime{100});
  replies_.NoteAsked(2, SimTime{200});
  replies_.SendTime(2, SimTime{500});
  replies_.SendTime(1, SimTime{800});

  EXPECT_EQ(replies_.waited(), base::Duration{600});
}

TEST_F(RepliesTest, WhatOthersWereToldOfIsWaitedFor) {
  host_.safe = SimTime{500};
  replies_.NoteAsked(2, SimTime{100});
  replies_.AwaitValues(2);
  host_.horizon().PassOverValueWaits();
  replies_.Send(2, {});

  EXPECT_EQ(replies_.waited(), base::Duration{400});
}

TEST_F(RepliesTest, AnAnswerWithoutATimeTellsOfNoMoment) {
  replies_.Send(1, {.value_ps = 900});

  EXPECT_EQ(replies_.last_told().host_clock, SimTime{});
}

}  // namespace
}  // namespace eidolon::agent::session
