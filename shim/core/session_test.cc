#include "shim/core/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"

namespace eidolon::shim::core {
namespace {

using ring::RecordKind;
using ::testing::ElementsAre;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : agent_(FakeAgent::Start()), session_(*Session::Get()) { agent_.Reset(); }

  ring::LaunchRecord Launch(std::uint32_t work) {
    ring::LaunchRecord record{};
    record.header.kind = RecordKind::kLaunch;
    record.work = work;
    return record;
  }
  ring::WaitRecord Wait(RecordKind kind) {
    ring::WaitRecord record{};
    record.header.kind = kind;
    return record;
  }

  FakeAgent& agent_;
  Session& session_;
};

TEST_F(SessionTest, ShowsTheDevicesThatTheAgentDescribes) {
  EXPECT_EQ(session_.device_count(), 2);
  EXPECT_STREQ(session_.device(1).name, "NVIDIA H100 80GB HBM3");
}

TEST_F(SessionTest, RecordsArriveInOrderWithClockAndSize) {
  Append(session_, Launch(1));
  AdvanceTo({7'000'000'000'000});
  Append(session_, Launch(2));

  const auto records = agent_.RecordsOf(RecordKind::kLaunch);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].As<ring::LaunchRecord>().work, 1u);
  EXPECT_EQ(records[0].header().bytes, sizeof(ring::LaunchRecord));
  EXPECT_GE(records[1].header().host_clock_ps, 7'000'000'000'000u);
}

TEST_F(SessionTest, TailPartsAreJoinedAndPadded) {
  ring::MarkRecord record{};
  record.header.kind = RecordKind::kRangePush;
  const std::string_view first = "for";
  const std::string_view second = "ward";
  const std::span<const std::byte> tail[] = {std::as_bytes(std::span(first)),
                                             std::as_bytes(std::span(second))};

  session_.Append(&record.header, sizeof(record), tail);

  const auto records = agent_.Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].bytes.size(), sizeof(record) + 8);
  EXPECT_EQ(std::memcmp(records[0].bytes.data() + sizeof(record), "forward\0", 8), 0);
}

TEST_F(SessionTest, AnAnswerMovesTheClock) {
  const std::uint64_t later = static_cast<std::uint64_t>(Now().ps) + 5'000'000;
  agent_.AnswerWith([later](const FakeAgent::Record&) {
    return FakeAgent::Reply{.value_ps = later, .extra = 42};
  });

  const auto answer = Ask(session_, Wait(RecordKind::kSynchronizeStream), true);

  EXPECT_EQ(answer.status, ring::ReplyStatus::kOk);
  EXPECT_EQ(answer.extra, 42u);
  EXPECT_EQ(Now().ps, static_cast<std::int64_t>(later));
}

TEST_F(SessionTest, PayloadIsCopiedUpToTheCallersSize) {
  agent_.AnswerWith([](const FakeAgent::Record&) {
    FakeAgent::Reply reply;
    reply.payload = {std::byte{1}, std::byte{2}, std::byte{3}};
    return reply;
  });
  std::byte bytes[2];

  const auto answer = Ask(session_, Wait(RecordKind::kCollectiveValues), false, bytes);

  EXPECT_EQ(answer.payload_bytes, 3u);
  EXPECT_EQ(bytes[1], std::byte{2});
}

TEST_F(SessionTest, EqualDefinitionsShareAnIdentifierAndAreDefinedOnce) {
  workload::Copy work{};
  work.header = {workload::WorkKind::kCopy, sizeof(work)};
  work.bytes = 123;
  const auto definition = std::as_bytes(std::span(&work, 1));

  const std::uint32_t first = session_.InternWork(definition);
  const std::uint32_t again = session_.InternWork(definition);
  work.bytes = 124;
  const std::uint32_t other = session_.InternWork(definition);

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_THAT(agent_.Kinds(), ElementsAre(RecordKind::kDefineWork, RecordKind::kDefineWork));
  EXPECT_EQ(agent_.Work(other).size(), sizeof(work));
}

TEST_F(SessionTest, AFullRingMakesTheWriterWaitAndLosesNothing) {
  constexpr int kThreads = 4;
  constexpr std::uint32_t kEach = 400'000;  // 38 MB of records in a ring of 16.
  agent_.Pause();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (std::uint32_t work = 0; work < kEach; ++work) Append(session_, Launch(work));
    });
  }
  agent_.Resume();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kLaunch).size(), kThreads * kEach);
}

TEST_F(SessionTest, ManyThreadsAskAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 300; ++i) {
    threads.emplace_back([this] {
      const auto answer = Ask(session_, Wait(RecordKind::kQueryStream), false);
      EXPECT_EQ(answer.status, ring::ReplyStatus::kOk);
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kQueryStream).size(), 300u);
}

TEST_F(SessionTest, AForkHasNoSession) {
  const pid_t child = fork();
  if (child == 0) _exit(Session::Get() == nullptr && Session::Existing() == nullptr ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace eidolon::shim::core
