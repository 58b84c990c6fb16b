#include "services/controller/job/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::controller::job {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMillisecond = 1'000'000'000;  // Picoseconds.

// Two servers of one rank each, one iteration of warm-up and two to measure.
class RunTest : public ::testing::Test {
 protected:
  RunTest() : run_({.servers = 2, .measurement = {.ranks = 2, .warmup = 1, .measure = 2}}, 0) {}

  void Connect() {
    run_.Connected(0);
    run_.Connected(1);
  }
  void Iterate(std::uint32_t count, std::int64_t now_ns = kSecond) {
    for (std::uint32_t index = 0; index < count; ++index) {
      for (std::int32_t rank : {0, 1}) {
        RankIteration iteration;
        iteration.rank = rank;
        iteration.index = index;
        iteration.start_ps = index * kMillisecond;
        iteration.end_ps = (index + 1) * kMillisecond;
        run_.Add(iteration, now_ns);
      }
    }
  }
  void Exit(std::uint32_t server, const std::string& how, std::int64_t now_ns = kSecond) {
    run_.Disconnected(server, now_ns);
    run_.Exited(server, how, now_ns);
  }
  void ExitBoth(std::int64_t now_ns = 2 * kSecond) {
    Exit(0, "ended with status 0", now_ns);
    Exit(1, "ended with status 0", now_ns);
  }
  void End(std::uint32_t server, OutcomeReason reason, const std::string& message = "") {
    run_.SetOutcome(server, {reason, message, 0}, kSecond);
  }

  job::Run run_;
};

TEST_F(RunTest, StopsAsSoonAsEnoughWasMeasuredAndIsComplete) {
  Connect();
  EXPECT_TRUE(run_.IsRunning());
  Iterate(2);
  EXPECT_EQ(run_.Step(kSecond), Order::kNone);

  Iterate(3);

  EXPECT_EQ(run_.Step(kSecond), Order::kStop);
  EXPECT_EQ(run_.Step(kSecond), Order::kNone);
  End(0, OutcomeReason::kStopped);
  End(1, OutcomeReason::kCommandFailed, "ended by SIGTERM");
  EXPECT_FALSE(run_.IsOver());
  ExitBoth();
  const Verdict verdict = run_.Judge();
  EXPECT_EQ(verdict.phase, Phase::kComplete);
  EXPECT_EQ(verdict.reason, "IterationsMeasured");
}

TEST_F(RunTest, ACommandThatEndsWellWithOneMeasuredIterationIsComplete) {
  Connect();
  Iterate(2);
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.phase, Phase::kComplete);
  EXPECT_EQ(verdict.message, "the command ended after 1 of 2 iterations to be measured");
}

TEST_F(RunTest, WhatAnAgentMissesStandsInTheCondition) {
  Connect();
  Iterate(2);
  End(0, OutcomeReason::kCompleted, "the command ended");
  End(1, OutcomeReason::kCompleted, "the command ended; rank 1 (pid 5) ended without saying so");
  ExitBoth();

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.phase, Phase::kComplete);
  EXPECT_EQ(
      verdict.message,
      "the command ended after 1 of 2 iterations to be measured; rank 1 (pid 5) ended without "
      "saying so");
}

TEST_F(RunTest, ARankThatLostItsSessionFailsTheJobAndThePredictionIsKept) {
  Connect();
  Iterate(2);
  End(0, OutcomeReason::kCompleted, "the command ended");
  End(1, OutcomeReason::kSessionLost, "rank 1 (pid 5) replaced itself by another program");
  ExitBoth();

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.phase, Phase::kFailed);
  EXPECT_EQ(verdict.reason, "SessionLost");
  EXPECT_EQ(verdict.message, "server 1: rank 1 (pid 5) replaced itself by another program");
  EXPECT_EQ(run_.Predict().measured_iterations, 1u);
}

TEST_F(RunTest, ACommandWithoutGpuWorkFailsAndSaysSo) {
  Connect();
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  EXPECT_EQ(run_.Judge().reason, "NoIterations");
  EXPECT_THAT(run_.Judge().message, HasSubstr("no GPU work was seen"));
}

TEST_F(RunTest, ACommandWithoutGpuWorkNamesTheCallThatWasRefused) {
  Connect();
  run_.SetUsage(0, {.refused_calls = {{"cuOddCall", 2}}});
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  EXPECT_THAT(run_.Judge().message, HasSubstr("It had called 'cuOddCall', which is not supported"));
}

TEST_F(RunTest, ACommandThatNeverIteratesFailsWithAdvice) {
  Connect();
  run_.SetProgress(0, {.launches = 3});
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  EXPECT_EQ(run_.Judge().reason, "NoIterations");
  EXPECT_THAT(run_.Judge().message, HasSubstr("iterations.boundary"));
}

TEST_F(RunTest, AProgramThatRepeatsNothingIsPredictedAsAWhole) {
  Connect();
  run_.SetUsage(0, {.programs = {{.rank = 0, .length_ps = 5, .launches = 3}}});
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.phase, Phase::kComplete);
  EXPECT_EQ(verdict.reason, "NoIterations");
  EXPECT_THAT(verdict.message, HasSubstr("iterations.boundary"));
  EXPECT_THAT(verdict.message, HasSubstr("the whole program"));
}

TEST_F(RunTest, ABoundaryThatWasNeverSeenIsAFailureThatKeepsWhatIsKnown) {
  job::Run run({.servers = 1, .measurement = {.ranks = 1}, .names_boundary = true}, 0);
  run.Connected(0);
  run.SetUsage(0, {.programs = {{.rank = 0, .length_ps = 5, .launches = 3}}});
  run.SetOutcome(0, {.reason = OutcomeReason::kCompleted}, 1);
  run.Exited(0, "ended with status 0", 2);

  const Verdict verdict = run.Judge();

  EXPECT_EQ(verdict.phase, Phase::kFailed);
  EXPECT_EQ(verdict.reason, "NoIterations");
  EXPECT_THAT(verdict.message, HasSubstr("iterations.boundary names was not seen"));
  EXPECT_TRUE(run.Predict().program.has_value());
}

TEST_F(RunTest, ACommandThatEndsInWarmupSaysSo) {
  Connect();
  Iterate(1);
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);
  ExitBoth();

  EXPECT_THAT(run_.Judge().message, HasSubstr("1 iteration(s), all of them warm-up"));
}

TEST_F(RunTest, ACrashingScriptFailsWithItsLastWords) {
  Connect();
  run_.NoteLogLine(0, "Traceback (most recent call last):");
  run_.NoteLogLine(0, "[rank1]: ValueError: no such optimizer");
  End(1, OutcomeReason::kCommandFailed, "the command ended with status 1");

  EXPECT_EQ(run_.Step(kSecond), Order::kStop);
  ExitBoth();
  const Verdict verdict = run_.Judge();
  EXPECT_EQ(verdict.reason, "CommandFailed");
  EXPECT_EQ(verdict.message,
            "server 1: the command ended with status 1; it printed: [rank1]: ValueError: no such "
            "optimizer");
}

TEST_F(RunTest, TheCauseWinsOverItsConsequences) {
  Connect();
  End(0, OutcomeReason::kDeadlock, "rank 0 waits");
  run_.SetUsage(
      1, {.memory = {{.rank = 1, .peak_bytes = 80, .capacity_bytes = 80, .refused_bytes = 10}}});
  End(1, OutcomeReason::kOutOfMemory, "rank 1 ran out of device memory");
  ExitBoth();

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.reason, "OutOfMemory");
  EXPECT_THAT(verdict.message, HasSubstr("Rank 1 peaked at 80 B of 80 B"));
  EXPECT_THAT(verdict.message, HasSubstr("a further 10 B did not fit"));
}

TEST_F(RunTest, AnAgentThatDiesTakesTheJobDown) {
  Connect();

  run_.Disconnected(1, kSecond);
  run_.Exited(1, "was killed by signal 9 (Killed)", kSecond);

  EXPECT_EQ(run_.Step(kSecond), Order::kStop);
  Exit(0, "ended with status 0");
  EXPECT_EQ(run_.Judge().reason, "AgentLost");
  EXPECT_EQ(run_.Judge().message, "the agent of server 1 was killed by signal 9 (Killed)");
}

TEST_F(RunTest, NamesTheAgentThatDiedWhenAnotherServerMissedItFirst) {
  Connect();

  run_.SetOutcome(0, {.reason = OutcomeReason::kPeerLost, .message = "rank 2 has gone"}, kSecond);
  run_.Disconnected(0, kSecond);
  run_.Exited(0, "ended with status 1", kSecond);
  run_.Disconnected(1, kSecond);
  run_.Exited(1, "was killed by signal 9 (Killed)", 2 * kSecond);

  EXPECT_EQ(run_.Judge().reason, "AgentLost");
  EXPECT_EQ(run_.Judge().message, "the agent of server 1 was killed by signal 9 (Killed)");
}

TEST_F(RunTest, NamesTheAgentThatSomebodyElseEnded) {
  Connect();

  run_.SetOutcome(0, {.reason = OutcomeReason::kPeerLost, .message = "rank 2 has left"}, kSecond);
  run_.Step(kSecond);
  run_.SetOutcome(1, {.reason = OutcomeReason::kStopped, .message = "asked to end"}, kSecond);
  run_.Exited(0, "ended with status 1", kSecond);
  run_.Exited(1, "lost its pod, which was deleted", 2 * kSecond);

  EXPECT_EQ(run_.Judge().reason, "AgentLost");
  EXPECT_TRUE(run_.Judge().message.starts_with("the agent of server 1 was asked to end"));
}

TEST_F(RunTest, AnAgentThatWeEndBecauseItMissedAnotherIsNotTheCause) {
  Connect();

  run_.SetOutcome(0, {.reason = OutcomeReason::kPeerLost, .message = "rank 2 has left"}, kSecond);
  run_.Step(kSecond);
  run_.SetOutcome(1, {.reason = OutcomeReason::kStopped, .message = run_.stop_reason()}, kSecond);
  run_.Exited(0, "ended with status 1", kSecond);
  run_.Exited(1, "ended with status 0", kSecond);

  EXPECT_EQ(run_.Judge().reason, "RankLost");
}

TEST_F(RunTest, AnAgentThatDiesWhileItIsEndedIsNotTheCause) {
  Connect();

  run_.SetOutcome(0, {.reason = OutcomeReason::kCommandFailed, .message = "status 3"}, kSecond);
  run_.Exited(0, "ended with status 0", kSecond);
  Exit(1, "was killed by signal 9 (Killed)", 2 * kSecond);

  EXPECT_EQ(run_.Judge().reason, "CommandFailed");
}

TEST_F(RunTest, WhatAnAgentToldBeforeItsExitCountsWhenItArrivesAfterIt) {
  Connect();

  run_.Exited(0, "ended with status 0", kSecond);
  EXPECT_EQ(run_.Step(kSecond), Order::kNone);
  EXPECT_FALSE(run_.IsOver());
  run_.SetOutcome(0, {.reason = OutcomeReason::kRingDamaged, .message = "damaged"}, kSecond);

  EXPECT_EQ(run_.Step(kSecond), Order::kStop);
  Exit(1, "ended with status 0");
  EXPECT_TRUE(run_.IsOver());
  EXPECT_EQ(run_.Judge().reason, "RingDamaged");
}

TEST_F(RunTest, IterationsCountThatArriveAfterTheExit) {
  Connect();

  run_.Exited(0, "ended with status 0", kSecond);
  run_.Exited(1, "ended with status 0", kSecond);
  Iterate(3);
  End(0, OutcomeReason::kCompleted);
  End(1, OutcomeReason::kCompleted);

  ASSERT_TRUE(run_.IsOver());
  EXPECT_EQ(run_.Judge().reason, "IterationsMeasured");
}

TEST_F(RunTest, AnAgentWhoseStreamEndsSilentlyAfterItsExitIsLost) {
  Connect();

  run_.Exited(1, "was killed by signal 9 (Killed)", kSecond);
  EXPECT_EQ(run_.Step(kSecond), Order::kNone);
  run_.Disconnected(1, kSecond + 1);

  EXPECT_EQ(run_.Step(kSecond + 1), Order::kStop);
  Exit(0, "ended with status 0");
  EXPECT_EQ(run_.Judge().message, "the agent of server 1 was killed by signal 9 (Killed)");
}

TEST_F(RunTest, AStreamThatStaysOpenAfterTheExitIsNotWaitedForLong) {
  Connect();

  run_.Exited(1, "lost its node", kSecond);
  EXPECT_EQ(run_.Step(3 * kSecond), Order::kNone);

  EXPECT_EQ(run_.Step(3 * kSecond + 1), Order::kStop);
  Exit(0, "ended with status 0", 4 * kSecond);
  EXPECT_TRUE(run_.IsOver());
  EXPECT_EQ(run_.Judge().message, "the agent of server 1 lost its node");
}

TEST_F(RunTest, AnAgentThatNeverConnectsFailsTheJob) {
  run_.Connected(0);

  EXPECT_EQ(run_.Step(59 * kSecond), Order::kNone);
  EXPECT_EQ(run_.Step(61 * kSecond), Order::kStop);
  ExitBoth();
  EXPECT_EQ(run_.Judge().message, "the agent of server 1 did not connect within 60 s");
}

TEST_F(RunTest, AgentsThatDoNotListenAreKilled) {
  Connect();
  run_.Interrupt(reason::kCancelled, "deleted by the user", kSecond);

  EXPECT_EQ(run_.Step(kSecond), Order::kStop);
  EXPECT_EQ(run_.Step(17 * kSecond), Order::kTerminate);
  EXPECT_EQ(run_.Step(18 * kSecond), Order::kNone);
  EXPECT_EQ(run_.Step(22 * kSecond), Order::kKill);
  ExitBoth();
  EXPECT_EQ(run_.Judge().phase, Phase::kInterrupted);
  EXPECT_EQ(run_.Judge().reason, "Cancelled");
}

TEST_F(RunTest, ProgressAndCostFollowTheAgents) {
  Connect();
  run_.SetProgress(0, {.virtual_ps = 500 * kMillisecond, .launches = 10});
  run_.SetProgress(1, {.virtual_ps = 400 * kMillisecond, .launches = 20});
  Iterate(2, 3 * kSecond);

  const Progress progress = run_.progress(4 * kSecond);
  EXPECT_EQ(progress.iteration, 2u);
  EXPECT_EQ(progress.of, 3u);
  EXPECT_EQ(progress.launches, 30u);
  EXPECT_DOUBLE_EQ(progress.virtual_seconds, 0.5);
  EXPECT_DOUBLE_EQ(*run_.cost(4 * kSecond).slowdown, 8.0);
}

TEST(FoldedRunTest, ServersWithoutALiveRankHaveNoAgentToWaitFor) {
  job::Run run({.servers = 128, .agents = {0, 127}, .measurement = {.ranks = 2}}, 0);
  EXPECT_FALSE(run.IsRunning());

  run.Connected(0);
  run.Connected(127);

  EXPECT_TRUE(run.IsRunning());
  EXPECT_EQ(run.Step(100 * kSecond), Order::kNone);
  for (const std::uint32_t server : {0u, 127u}) {
    run.Disconnected(server, 200 * kSecond);
    run.Exited(server, "ended with status 0", 200 * kSecond);
  }
  EXPECT_TRUE(run.IsOver());
}

}  // namespace
}  // namespace eidolon::controller::job
