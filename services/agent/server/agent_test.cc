// A whole agent against fake services and fake ranks.
#include "services/agent/server/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "services/agent/server/agent_fixture.h"

namespace eidolon::agent::server {
namespace {

namespace wire = ::eidolon::ring;
using ::testing::Contains;
using ::testing::HasSubstr;
using wire::RecordKind;
using wire::ReplyStatus;

class AgentTest : public AgentFixture {};

TEST_F(AgentTest, RunsACommandAndTellsItsLines) {
  StartAndWaitForCommand();
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  EXPECT_EQ(outcome.exit_status(), 0);
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(controller_->lines(), Contains("started"));
}

TEST_F(AgentTest, AFailingCommandShowsItsLastLines) {
  StartAndWaitForCommand();
  std::ofstream(directory_ + "/complaint") << "Traceback\nValueError: bad batch\n";
  EndCommand(3);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMMAND_FAILED);
  EXPECT_EQ(outcome.exit_status(), 3);
  EXPECT_THAT(outcome.message(), HasSubstr("ValueError: bad batch"));
}

TEST_F(AgentTest, ACommandThatCannotStartIsNamed) {
  assignment_.clear_command();
  assignment_.add_command("no-such-program-of-anyone");
  Start();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMMAND_FAILED);
  EXPECT_THAT(outcome.message(), HasSubstr("no-such-program-of-anyone"));
  EXPECT_EQ(outcome.exit_status(), -1);
}

TEST_F(AgentTest, AnUnknownGpuIsNamed) {
  assignment_.mutable_cluster()->set_gpu("H999");
  Start();

  EXPECT_THAT(WaitForOutcome().message(), HasSubstr("GPU 'H999' is unknown"));
}

TEST_F(AgentTest, AnswersQueriesAndElapsedTimes) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  Prepare(rank);
  rank.Join(400, "alone", 1, 0);
  rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 300});
  rank.AllReduce(0, 400, 0);
  rank.writer().Append(RecordKind::kEventRecord, wire::EventRecord{{}, 0, 301});

  EXPECT_EQ(rank.Ask(RecordKind::kQueryEvent, 301).status, ReplyStatus::kNotReady);
  rank.Work(10'000 * kMicrosecond);
  EXPECT_EQ(rank.Ask(RecordKind::kQueryEvent, 301).status, ReplyStatus::kOk);
  const auto elapsed = rank.Ask(RecordKind::kElapsedTime, 300, 301);
  EXPECT_EQ(elapsed.value_ps, 101 * kMicrosecond) << "the all-reduce and the gap before it";
  EXPECT_EQ(rank.Ask(RecordKind::kWaitUntil, 1).status, ReplyStatus::kOk);
}

TEST_F(AgentTest, SmallCollectivesMoveBytes) {
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  std::string results[2];
  const auto run = [&](int index, const std::string& payload) {
    FakeRank rank(directory_, {.rank = index, .world_size = 2});
    rank.Join(400, "world", 2, index);
    rank.AllReduce(0, 400, 0, payload);
    results[index] = rank.Ask(RecordKind::kCollectiveValues, 400, 0).payload;
  };
  std::thread second([&] { run(1, "wxyz"); });
  run(0, "abcd");
  second.join();

  EXPECT_EQ(results[0], "abcdwxyz");
  EXPECT_EQ(results[1], "abcdwxyz");
}

TEST_F(AgentTest, ADamagedRingEndsTheJobWithWhatWasWrong) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  wire::LaunchRecord bad{{32, static_cast<RecordKind>(777), 0, 0}, 0, 1};
  rank.writer().AppendRaw(std::as_bytes(std::span(&bad, 1)));

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RING_DAMAGED);
  EXPECT_THAT(outcome.message(), HasSubstr("record kind 777 is unknown"));
}

TEST_F(AgentTest, DamageIsNoticedInWhatARankLeftBehind) {
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    const wire::LaunchRecord overwritten{{sizeof(overwritten), RecordKind::kLaunch, 0, 0}, 0, 1};
    rank.writer().AppendDamaged(std::as_bytes(std::span(&overwritten, 1)));
  }
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RING_DAMAGED);
  EXPECT_THAT(outcome.message(), HasSubstr("rank 0 (pid "));
  EXPECT_THAT(outcome.message(), HasSubstr("ring damaged at byte 0: launch record: its 32 bytes"));
}

// It ended before the timing service had said what its last work takes.
TEST_F(AgentTest, WhatAProcessLaunchesJustBeforeItEndsTakesTime) {
  timing_.AnswerAfter(std::chrono::milliseconds(600));
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    rank.writer().DefineKernel(100, "vectorized_elementwise_kernel");
    rank.writer().Launch(0, 100);
    rank.writer().Launch(0, 100);
  }
  EndCommand(0);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  EXPECT_THAT(EventLog(), HasSubstr("rank 0 device 0 stream 0 op 0 "));
  EXPECT_THAT(EventLog(), HasSubstr("rank 0 device 0 stream 0 op 1 "));
}

TEST_F(AgentTest, TheJobClockFollowsItsRanks) {
  constexpr std::int64_t kMinuteNs = 60'000'000'000;
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  rank.Work(3 * kMicrosecond);

  const std::int64_t begin = clock_.MonotonicNs();
  while (rank.job_clock() < 3 * kMicrosecond && clock_.MonotonicNs() < begin + kMinuteNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(rank.job_clock(), 3 * kMicrosecond);
}

TEST_F(AgentTest, ARecordThatNamesSomethingUnknownIsDamage) {
  StartAndWaitForCommand();
  FakeRank rank(directory_, {.rank = 0});
  rank.writer().Launch(0, 4711);

  EXPECT_THAT(WaitForOutcome().message(), HasSubstr("work 4711 was not defined"));
}

TEST_F(AgentTest, OutOfMemoryIsTheReasonWhenTheCommandFailsOfIt) {
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    const wire::MemoryRecord booked{
        {}, wire::MemoryCategory::kAllocation, 0, 70ll << 30, 70ull << 30};
    rank.writer().Append(RecordKind::kMemory, booked);
    const wire::MemoryRecord refused{
        {}, wire::MemoryCategory::kAllocation, 0, 20ll << 30, 70ull << 30};
    rank.writer().Append(RecordKind::kOutOfMemory, refused);
    rank.Ask(RecordKind::kSynchronizeDevice, 0);
  }
  EndCommand(1);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_OUT_OF_MEMORY);
  EXPECT_THAT(outcome.message(), HasSubstr("asked for 20.00 GiB when 70.00 GiB of 80.00 GiB"));
  for (const auto& report : controller_->reports()) {
    if (!report.has_usage()) continue;
    ASSERT_EQ(report.usage().memory_size(), 1);
    EXPECT_EQ(report.usage().memory(0).peak_bytes(), 70ull << 30);
    EXPECT_EQ(report.usage().memory(0).refused_bytes(), 20ull << 30);
  }
}

TEST_F(AgentTest, ARankThatIsKilledIsNamedWithinSeconds) {
  StartAndWaitForCommand();
  const pid_t child = fork();
  if (child == 0) {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1, .pid = getpid()});
    kill(getpid(), SIGKILL);
  }

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_RANK_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("died: killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(outcome.message(), HasSubstr("rank 0 (pid "));
}

TEST_F(AgentTest, StopEndsTheCommandAndLetsWaitersGo) {
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  ReplyStatus status = ReplyStatus::kOk;
  std::thread waiter([&] {
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    status = rank.Join(400, "never complete", 2, 0).status;
  });
  // Who comes after the stop is not answered any more. A rank that never comes is ctest's to end.
  while (network_.joins() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  controller_->SendStop("enough was measured");

  const auto outcome = WaitForOutcome();
  waiter.join();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_STOPPED);
  EXPECT_EQ(outcome.message(), "enough was measured");
  EXPECT_EQ(status, ReplyStatus::kJobEnding);
}

TEST_F(AgentTest, ACommandThatFloodsItsOutputCanBeStopped) {
  assignment_.clear_command();
  for (const char* word : {"sh", "-c", "echo started; exec yes"}) assignment_.add_command(word);
  StartAndWaitForCommand();

  controller_->SendStop("enough was measured");

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_STOPPED);
}

TEST_F(AgentTest, ADeadlockIsReportedAsTheNetworkSaysIt) {
  StartAndWaitForCommand();
  network_.DeclareDeadlock("rank 1 never joined 'world'");

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_DEADLOCK);
  EXPECT_EQ(outcome.message(), "rank 1 never joined 'world'");
}

// The silence after the command is its end; to the network it would look like a deadlock of the
// ranks that still wait there.
TEST_F(AgentTest, ClaimsNoQuiescenceOnceItsCommandHasEnded) {
  StartAndWaitForCommand();

  EndCommand(1);
  WaitForOutcome();

  EXPECT_FALSE(network_.claims_quiescence());
}

TEST_F(AgentTest, ALostNetworkServiceEndsTheJob) {
  StartAndWaitForCommand();
  network_server_.reset();

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("the network service at 127.0.0.1"));
}

TEST_F(AgentTest, ALostTimingServiceEndsTheJobWhenItIsNeeded) {
  StartAndWaitForCommand();
  timing_server_.reset();
  FakeRank rank(directory_, {.rank = 0});
  rank.writer().DefineKernel(1, "new_kernel");
  rank.writer().Launch(0, 1);

  const auto outcome = WaitForOutcome();

  EXPECT_EQ(outcome.reason(), controller::v1::OUTCOME_REASON_SERVICE_LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("the timing service at 127.0.0.1"));
}

TEST_F(AgentTest, RefusesARankWithoutAGpu) {
  StartAndWaitForCommand();

  const FakeRank rank(directory_, {.rank = 5, .world_size = 8});

  EXPECT_FALSE(rank.accepted());
  EXPECT_EQ(rank.refusal(), "LOCAL_RANK 5: this server has 2 GPUs");
}

}  // namespace
}  // namespace eidolon::agent::server
