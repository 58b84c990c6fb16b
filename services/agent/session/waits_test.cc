#include "services/agent/session/waits.h"

#include <gtest/gtest.h>

#include "services/agent/session/parts_fixture.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using wire::RecordKind;
using wire::ReplyStatus;

class WaitsTest : public PartsFixture {
 protected:
  static wire::WaitRecord Question(RecordKind kind, std::uint32_t slot, std::uint64_t clock,
                                   std::uint64_t id = 0) {
    wire::WaitRecord record{};
    record.header.kind = kind;
    record.header.host_clock_ps = clock;
    record.slot = slot;
    record.id = id;
    return record;
  }
  void TellEnded() {
    for (const auto& [ticket, time] : ended_) waits_.NoteEnded(ticket, time);
  }
  Waits waits_{&host_, &engine_, &replies_};
};

TEST_F(WaitsTest, AWaitForIdleWorkEndsAtTheAskingClock) {
  ASSERT_TRUE(waits_.AskCompletion(Question(RecordKind::kSynchronizeStream, 2, 700)).has_value());

  EXPECT_TRUE(writer_.IsAnswered(2));
  EXPECT_EQ(SlotOf(2).value_ps, 700u);
  EXPECT_FALSE(host_.horizon().HasNetworkWait());
}

TEST_F(WaitsTest, AWaitForACollectiveIsAnsweredWhenTheEngineIsDone) {
  IssueCollective(1);
  ASSERT_TRUE(waits_.AskCompletion(Question(RecordKind::kSynchronizeStream, 2, 700)).has_value());
  EXPECT_TRUE(host_.horizon().HasNetworkWait());
  ASSERT_TRUE(engine_.ResolveCollective(1, SimTime{900}, SimTime{5000}));
  TellEnded();
  EXPECT_FALSE(writer_.IsAnswered(2));

  waits_.Settle();

  EXPECT_TRUE(writer_.IsAnswered(2));
  EXPECT_EQ(SlotOf(2).value_ps, 5000u);
  EXPECT_EQ(replies_.last_told().host_clock, SimTime{5000});
  EXPECT_FALSE(host_.horizon().HasNetworkWait());
}

TEST_F(WaitsTest, AnObserversWaitDoesNotHoldTheHorizon) {
  IssueCollective(1);
  auto question = Question(RecordKind::kSynchronizeStream, 2, 700);
  question.observer = 1;

  ASSERT_TRUE(waits_.AskCompletion(question).has_value());

  EXPECT_FALSE(host_.horizon().HasNetworkWait());
}

TEST_F(WaitsTest, AQueryAboutOpenWorkWaitsUntilItsMomentIsSafe) {
  IssueCollective(1);
  ASSERT_TRUE(waits_.AskQuery(Question(RecordKind::kQueryStream, 3, 700)).has_value());
  EXPECT_FALSE(writer_.IsAnswered(3));
  EXPECT_EQ(host_.horizon().Wanted(), SimTime{700});
  host_.safe = SimTime{700};

  waits_.AnswerMoments(true);

  EXPECT_TRUE(writer_.IsAnswered(3));
  EXPECT_EQ(SlotOf(3).status, ReplyStatus::kNotReady);
}

TEST_F(WaitsTest, AQueryAboutWorkThatCannotHaveEndedNeedsNoNetwork) {
  IssueCollective(1);
  ASSERT_TRUE(engine_.Launch({.host_clock = SimTime{600}}, {.duration = {1000}}).has_value());

  ASSERT_TRUE(waits_.AskQuery(Question(RecordKind::kQueryStream, 3, 700)).has_value());

  ASSERT_TRUE(writer_.IsAnswered(3));
  EXPECT_EQ(SlotOf(3).status, ReplyStatus::kNotReady);
  EXPECT_FALSE(host_.horizon().Wanted().has_value());
}

TEST_F(WaitsTest, TheEarliestQueryCanBeAnsweredAlthoughNobodyKnows) {
  IssueCollective(1);
  ASSERT_TRUE(waits_.AskQuery(Question(RecordKind::kQueryStream, 3, 700)).has_value());
  ASSERT_TRUE(waits_.AskQuery(Question(RecordKind::kQueryStream, 4, 800)).has_value());
  waits_.AskMoment(Question(RecordKind::kWaitUntil, 5, 100, 600), true);
  EXPECT_EQ(waits_.EarliestQuery(), SimTime{700});

  waits_.AnswerUndecided(SimTime{700});

  EXPECT_EQ(SlotOf(3).status, ReplyStatus::kNotReady);
  EXPECT_FALSE(writer_.IsAnswered(4));
  EXPECT_FALSE(writer_.IsAnswered(5));
  EXPECT_EQ(waits_.EarliestQuery(), SimTime{800});
}

TEST_F(WaitsTest, WhoDrivesSleepsUntilTheNetworkHasPassedTheMoment) {
  waits_.AskMoment(Question(RecordKind::kWaitUntil, 4, 100, 9000), true);
  EXPECT_FALSE(writer_.IsAnswered(4));
  host_.safe = SimTime{9000};

  waits_.AnswerMoments(true);

  EXPECT_EQ(SlotOf(4).value_ps, 9000u);
}

TEST_F(WaitsTest, WhoDrivesNothingSleepsInRealTimeAndNotLong) {
  waits_.AskMoment(Question(RecordKind::kWaitUntil, 4, 0, std::uint64_t{1} << 62), false);
  host_.now = 99'999'999;
  waits_.WakeSleepers();
  EXPECT_FALSE(writer_.IsAnswered(4));
  host_.now = 100'000'000;

  waits_.WakeSleepers();

  EXPECT_TRUE(writer_.IsAnswered(4));
  EXPECT_FALSE(host_.horizon().Wanted().has_value());
}

TEST_F(WaitsTest, SensorsAreReadOnceNoRankCanActBefore) {
  waits_.AskMoment(Question(RecordKind::kSensors, 4, 9000), true);
  EXPECT_FALSE(writer_.IsAnswered(4));
  EXPECT_EQ(host_.horizon().Wanted(), SimTime{9000});
  EXPECT_EQ(waits_.EarliestQuery(), SimTime{9000});
  host_.safe = SimTime{9000};

  waits_.AnswerMoments(true);

  ASSERT_TRUE(writer_.IsAnswered(4));
  EXPECT_EQ(SlotOf(4).value_ps, 9000u);
  EXPECT_EQ(SlotOf(4).payload_bytes, sizeof(wire::DeviceSensors));
  EXPECT_EQ(replies_.waited(), base::Duration{}) << "a reading takes no time of its own";
}

TEST_F(WaitsTest, AMonitorAndAThreadThatObservesReadSensorsAtOnce) {
  waits_.AskMoment(Question(RecordKind::kSensors, 4, 9000), false);
  EXPECT_EQ(SlotOf(4).value_ps, 0u) << "at the clock of the ranks";
  auto question = Question(RecordKind::kSensors, 5, 9000);
  question.observer = 1;
  waits_.AskMoment(question, true);

  EXPECT_EQ(SlotOf(5).value_ps, 9000u);
  EXPECT_FALSE(host_.horizon().Wanted().has_value());
}

TEST_F(WaitsTest, SensorsThatNobodyCanDecideReadWhatIsKnown) {
  waits_.AskMoment(Question(RecordKind::kSensors, 3, 700), true);

  waits_.AnswerUndecided(SimTime{700});

  EXPECT_EQ(SlotOf(3).status, ReplyStatus::kOk);
  EXPECT_EQ(SlotOf(3).payload_bytes, sizeof(wire::DeviceSensors));
  EXPECT_FALSE(waits_.EarliestQuery().has_value());
}

TEST_F(WaitsTest, TimeBetweenEventsIsToldOnceBothHaveEnded) {
  ASSERT_TRUE(engine_.CreateEvent(1).has_value());
  ASSERT_TRUE(engine_.CreateEvent(2).has_value());
  ASSERT_TRUE(engine_.RecordEvent({.host_clock = SimTime{100}}, 1).has_value());
  IssueCollective(1);
  ASSERT_TRUE(engine_.RecordEvent({.host_clock = SimTime{200}}, 2).has_value());
  auto question = Question(RecordKind::kElapsedTime, 5, 300, 1);
  question.id2 = 2;
  ASSERT_TRUE(waits_.AskElapsed(question).has_value());
  EXPECT_FALSE(writer_.IsAnswered(5));
  ASSERT_TRUE(engine_.ResolveCollective(1, SimTime{400}, SimTime{1100}));
  TellEnded();

  waits_.Settle();

  EXPECT_TRUE(writer_.IsAnswered(5));
  EXPECT_EQ(SlotOf(5).value_ps, 1000u);
}

TEST_F(WaitsTest, DismissTellsEverybodyThatTheJobEnds) {
  IssueCollective(1);
  waits_.AskMoment(Question(RecordKind::kWaitUntil, 1, 0, 50), false);
  waits_.AskMoment(Question(RecordKind::kWaitUntil, 2, 0, 50), true);
  ASSERT_TRUE(waits_.AskCompletion(Question(RecordKind::kSynchronizeDevice, 3, 0)).has_value());

  waits_.Dismiss();

  for (const std::uint32_t slot : {1u, 2u, 3u}) {
    EXPECT_TRUE(writer_.IsAnswered(slot)) << slot;
    EXPECT_EQ(SlotOf(slot).status, ReplyStatus::kJobEnding) << slot;
  }
}

TEST_F(WaitsTest, NobodyOfAProcessThatIsGoneIsAnswered) {
  IssueCollective(1);
  ASSERT_TRUE(waits_.AskCompletion(Question(RecordKind::kSynchronizeStream, 2, 0)).has_value());
  waits_.Forget();
  ASSERT_TRUE(engine_.ResolveCollective(1, SimTime{1}, SimTime{2}));
  TellEnded();

  waits_.Settle();

  EXPECT_FALSE(writer_.IsAnswered(2));
}

}  // namespace
}  // namespace eidolon::agent::session
