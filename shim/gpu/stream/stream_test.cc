#include "shim/gpu/stream/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/core/thread_role.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/callback.h"
#include "shim/gpu/stream/event.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {
namespace {

using core::FakeAgent;
using ring::RecordKind;
using ::testing::ElementsAre;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    EXPECT_EQ(CreateStream(1, -2, &stream_), Status::kSuccess);
    EXPECT_EQ(CreateEvent(0, &event_), Status::kSuccess);
    agent_.Reset();
  }
  ~StreamTest() override {
    DestroyEvent(event_);
    DestroyStream(stream_);
  }

  static FakeAgent::Reply NotReady() { return {.status = ring::ReplyStatus::kNotReady}; }

  FakeAgent& agent_;
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;
};

TEST_F(StreamTest, CreationTellsFlagsAndPriority) {
  StreamHandle other;
  ASSERT_EQ(CreateStream(1, -99, &other), Status::kSuccess);
  DestroyStream(other);

  const auto records = agent_.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].As<ring::StreamRecord>().non_blocking, 1u);
  EXPECT_EQ(records[0].As<ring::StreamRecord>().priority, kGreatestPriority);
  EXPECT_EQ(records[1].kind(), RecordKind::kStreamDestroy);
  EXPECT_EQ(Lookup(other), nullptr);
}

TEST_F(StreamTest, SpecialHandlesMeanTheDefaultStreams) {
  EXPECT_EQ(Lookup(nullptr), Lookup(kLegacyStream));
  EXPECT_EQ(Lookup(nullptr)->id, 0u);
  EXPECT_NE(Lookup(kPerThreadStream), Lookup(nullptr));
  const PerThreadDefault scope;
  EXPECT_EQ(Lookup(nullptr), Lookup(kPerThreadStream));
}

TEST_F(StreamTest, EachThreadHasItsOwnDefaultStream) {
  Stream* other = nullptr;
  std::thread([&other] { other = Lookup(kPerThreadStream); }).join();

  EXPECT_NE(other, nullptr);
  EXPECT_NE(other, Lookup(kPerThreadStream));
}

TEST_F(StreamTest, WorkBecomesADefinitionAndALaunch) {
  workload::Copy work{};
  work.header = {workload::WorkKind::kMemset, sizeof(work)};
  work.bytes = 4242;

  ASSERT_EQ(Submit(stream_, std::as_bytes(std::span(&work, 1))), Status::kSuccess);

  EXPECT_THAT(agent_.Kinds(), ElementsAre(RecordKind::kDefineWork, RecordKind::kLaunch));
  const auto launch = agent_.Records()[1].As<ring::LaunchRecord>();
  EXPECT_EQ(launch.stream, Lookup(stream_)->id);
  EXPECT_EQ(agent_.Work(launch.work).size(), sizeof(work));
}

TEST_F(StreamTest, SynchronizingMovesTheClockToTheEnd) {
  const std::uint64_t end = static_cast<std::uint64_t>(core::Now().ps) + 3'000'000'000;
  agent_.AnswerWith([end](const FakeAgent::Record&) { return FakeAgent::Reply{.value_ps = end}; });

  EXPECT_EQ(SynchronizeStream(stream_), Status::kSuccess);
  EXPECT_EQ(core::Now().ps, static_cast<std::int64_t>(end));
}

TEST_F(StreamTest, APollLoopMovesTheClockAndOtherWorkResetsIt) {
  agent_.AnswerWith([](const FakeAgent::Record&) { return NotReady(); });
  RecordEvent(event_, stream_, 0);
  const auto start = core::Now();
  EXPECT_EQ(QueryEvent(event_), Status::kNotReady);
  EXPECT_EQ((core::Now() - start).ps, 0);
  EXPECT_EQ(QueryEvent(event_), Status::kNotReady);
  EXPECT_EQ((core::Now() - start).ps, 1'000'000);
  EXPECT_EQ(QueryEvent(event_), Status::kNotReady);
  EXPECT_EQ((core::Now() - start).ps, 3'000'000);
  for (int i = 0; i < 20; ++i) QueryEvent(event_);
  const auto late = core::Now();
  QueryEvent(event_);
  EXPECT_EQ((core::Now() - late).ps, 1'024'000'000);

  RecordEvent(event_, stream_, 0);
  const auto again = core::Now();
  QueryEvent(event_);
  EXPECT_EQ((core::Now() - again).ps, 0);
}

TEST_F(StreamTest, OtherThreadsObserveWithoutMovingTheClock) {
  agent_.AnswerWith([](const FakeAgent::Record&) { return NotReady(); });
  RecordEvent(event_, stream_, 0);
  const auto start = core::Now();
  std::thread([this] {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(QueryEvent(event_), Status::kNotReady);
  }).join();

  EXPECT_EQ((core::Now() - start).ps, 0);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kQueryEvent)[0].As<ring::WaitRecord>().observer, 1u);
}

TEST_F(StreamTest, AnEventThatWasNeverRecordedIsComplete) {
  EXPECT_EQ(QueryEvent(event_), Status::kSuccess);
  EXPECT_EQ(SynchronizeEvent(event_), Status::kSuccess);
  EXPECT_EQ(WaitEvent(stream_, event_, 0), Status::kSuccess);
  EXPECT_TRUE(agent_.Records().empty());
}

TEST_F(StreamTest, ElapsedTimeComesFromTheEngine) {
  EventHandle end;
  CreateEvent(0, &end);
  RecordEvent(event_, stream_, 0);
  RecordEvent(end, stream_, 0);
  float milliseconds = 0;

  EXPECT_EQ(ElapsedTime(&milliseconds, event_, end), Status::kSuccess);
  EXPECT_FLOAT_EQ(milliseconds, 1.0F);
  DestroyEvent(end);
}

TEST_F(StreamTest, ElapsedTimeOfEventsWithoutTimingIsRefused) {
  EventHandle end;
  CreateEvent(Event::kDisableTiming, &end);
  RecordEvent(event_, stream_, 0);
  RecordEvent(end, stream_, 0);
  float milliseconds = 0;

  EXPECT_EQ(ElapsedTime(&milliseconds, event_, end), Status::kInvalidHandle);
  DestroyEvent(end);
}

TEST_F(StreamTest, StaleHandlesAreRefused) {
  DestroyEvent(event_);
  EXPECT_EQ(RecordEvent(event_, stream_, 0), Status::kInvalidHandle);
  EXPECT_EQ(DestroyEvent(event_), Status::kInvalidHandle);
  CreateEvent(0, &event_);
}

TEST_F(StreamTest, CallbacksRunInOrderBeforeTheWaitReturns) {
  static std::vector<int> seen;
  seen.clear();
  int numbers[] = {1, 2, 3};
  for (int& number : numbers) {
    EnqueueCallback(
        *Lookup(stream_), [](void* data) { seen.push_back(*static_cast<int*>(data)); }, &number);
  }

  EXPECT_EQ(SynchronizeStream(stream_), Status::kSuccess);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST_F(StreamTest, ACallbackRunsWithoutAnyWait) {
  static std::atomic<bool> ran;
  ran = false;
  EnqueueCallback(
      *Lookup(stream_), [](void*) { ran = true; }, nullptr);

  for (int i = 0; i < 2000 && !ran; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(ran);
}

// The engine knows that whatever is asked for ends so much later.
class LateCallbackTest : public StreamTest {
 protected:
  LateCallbackTest() : end_(core::Now() + base::Duration::Microseconds(700)) {
    agent_.AnswerWith([end = end_](const FakeAgent::Record& record) {
      FakeAgent::Reply reply = FakeAgent::DefaultAnswer(record);
      reply.value_ps = static_cast<std::uint64_t>(end.ps);
      return reply;
    });
    EnqueueCallback(
        *Lookup(stream_),
        [](void* ran) {
          static_cast<std::atomic<bool>*>(ran)->store(true);
          static_cast<std::atomic<bool>*>(ran)->notify_all();
        },
        &ran_);
  }
  ~LateCallbackTest() override { ran_.wait(false); }

  base::SimTime end_;
  std::atomic<bool> ran_ = false;
};

TEST_F(LateCallbackTest, AProgramThatWaitsForItsEffectReachesItsTime) {
  EXPECT_LT(core::Now(), end_);

  ran_.wait(false);

  EXPECT_EQ(core::Now(), end_);
  const auto waits = agent_.RecordsOf(RecordKind::kSynchronizeEvent);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].As<ring::WaitRecord>().observer, 0u);
}

TEST_F(LateCallbackTest, AProgramThatGoesOnIsNotMoved) {
  while (!ran_ && core::Now() < end_) core::AdvanceBy(base::Duration::Nanoseconds(20));

  EXPECT_FALSE(ran_);
}

TEST_F(LateCallbackTest, AProgramThatSpinsIsNotHeldUpForEver) {
  while (!ran_) {
  }

  EXPECT_LT(core::Now(), end_);
}

TEST_F(StreamTest, AProgramThatWaitsForWhatOthersDecideIsSeenToWait) {
  static std::atomic<bool> seen;
  static std::atomic<bool> ran;
  seen = ran = false;
  agent_.AnswerWith([](const FakeAgent::Record& record) {
    const bool waits = record.kind() == RecordKind::kSynchronizeEvent;
    if (waits) seen = true;
    return seen ? FakeAgent::DefaultAnswer(record) : NotReady();
  });

  EnqueueCallback(
      *Lookup(stream_),
      [](void*) {
        ran = true;
        ran.notify_all();
      },
      nullptr);
  ran.wait(false);

  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace eidolon::shim::gpu
