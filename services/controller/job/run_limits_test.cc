// Limits of a run: of its time, of standing still, and of the way out of its agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/controller/job/run.h"

namespace eidolon::controller::job {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(RunLimitTest, AJobThatRunsTooLongFails) {
  job::Run run({.servers = 1, .wall_seconds_max = 10}, 0);
  run.Connected(0);

  EXPECT_EQ(run.Step(9 * kSecondNs), Order::kNone);
  EXPECT_EQ(run.Step(11 * kSecondNs), Order::kStop);
  run.SetOutcome(0, {OutcomeReason::kStopped, "", 0}, 11 * kSecondNs);
  run.Exited(0, "ended with status 0", 11 * kSecondNs);
  EXPECT_EQ(run.Judge().reason, "DeadlineExceeded");
}

// Two servers that may stand still for ten seconds.
class RunStillTest : public ::testing::Test {
 protected:
  RunStillTest() : run_({.servers = 2, .still_seconds_max = 10}, 0) {
    run_.Connected(0);
    run_.Connected(1);
  }
  // Both agents speak twice a second, from `from_s` until `until_s`, or an order is given.
  Order Pass(std::int64_t from_s, std::int64_t until_s, AgentProgress first, AgentProgress second) {
    for (std::int64_t at = from_s * kSecondNs; at <= until_s * kSecondNs; at += kSecondNs / 2) {
      run_.SetProgress(0, first);
      run_.SetProgress(1, second);
      if (const Order order = run_.Step(at); order != Order::kNone) return order;
    }
    return Order::kNone;
  }
  static AgentProgress StillFor(std::int64_t seconds, const std::string& witness) {
    return {.still_ns = seconds * kSecondNs, .witness = witness};
  }
  Verdict End() {
    for (const std::uint32_t server : {0, 1}) {
      run_.SetOutcome(server, {OutcomeReason::kStopped, run_.stop_reason(), 0}, 99 * kSecondNs);
      run_.Exited(server, "ended with status 0", 99 * kSecondNs);
    }
    return run_.Judge();
  }

  job::Run run_;
};

TEST_F(RunStillTest, AJobOfWhichNothingMovesIsStuckAndTheStoppedProcessIsNamedFirst) {
  AgentProgress stopped = StillFor(10, "rank 1 (pid 7, python3) is stopped (state T)");
  stopped.is_stopped = true;

  EXPECT_EQ(Pass(0, 1, StillFor(10, "rank 0 (pid 6, python3) waits in recvfrom"), stopped),
            Order::kStop);

  const Verdict verdict = End();
  EXPECT_EQ(verdict.phase, Phase::kFailed);
  EXPECT_EQ(verdict.reason, "Stuck");
  EXPECT_EQ(verdict.message,
            "nothing in the job has moved for 10 s (limits.stillSeconds): no call of a rank, no "
            "processor, no disk. server 1: rank 1 (pid 7, python3) is stopped (state T). server 0: "
            "rank 0 (pid 6, python3) waits in recvfrom");
}

TEST_F(RunStillTest, OneServerThatMovesIsEnough) {
  EXPECT_EQ(Pass(0, 30, StillFor(25, "rank 0 waits"), StillFor(2, "rank 1 waits")), Order::kNone);
}

TEST_F(RunStillTest, ProgressSaysWhatIsWaitedForOnceNothingMoves) {
  run_.SetProgress(0, StillFor(6, "rank 0 waits in recvfrom"));
  run_.SetProgress(1, StillFor(4, "rank 1 waits in recvfrom"));
  EXPECT_EQ(run_.progress(0).waiting, "");

  run_.SetProgress(1, StillFor(6, "rank 1 waits in recvfrom"));
  EXPECT_EQ(run_.progress(0).waiting, "server 0: rank 0 waits in recvfrom");

  run_.SetOutcome(0, {OutcomeReason::kCompleted, "", 0}, 0);
  EXPECT_EQ(run_.progress(0).waiting, "server 1: rank 1 waits in recvfrom");
}

TEST_F(RunStillTest, AnAgentThatSaysNothingMovesNothing) {
  for (std::int64_t at = 0; at < 10; ++at) {
    run_.SetProgress(0, StillFor(20, "rank 0 waits"));
    ASSERT_EQ(run_.Step(at * kSecondNs), Order::kNone) << at;
  }
  run_.SetProgress(0, StillFor(30, "rank 0 waits"));
  EXPECT_EQ(run_.Step(10 * kSecondNs), Order::kStop);

  const Verdict verdict = End();
  EXPECT_EQ(verdict.reason, "Stuck");
  EXPECT_THAT(verdict.message, HasSubstr("server 1: its agent has said nothing for 10 s"));
}

TEST_F(RunStillTest, AnAgentThatForwardsOutputIsNotSilent) {
  run_.SetProgress(0, StillFor(30, "rank 0 waits"));
  run_.SetProgress(1, StillFor(5, "rank 1 waits in anon_pipe_write"));

  for (std::int64_t at = 0; at < 30; ++at) {
    run_.NoteLogLine(1, "a line of a flood");
    ASSERT_EQ(run_.Step(at * kSecondNs), Order::kNone) << at;
  }
}

TEST_F(RunStillTest, APauseOfTheControllerIsNoSilenceOfItsAgents) {
  EXPECT_EQ(Pass(0, 5, StillFor(0, ""), StillFor(0, "")), Order::kNone);

  EXPECT_EQ(run_.Step(600 * kSecondNs), Order::kNone);
}

TEST_F(RunStillTest, AStoppedGuardianOfAJobThatStandsStillIsNamedFirst) {
  run_.SetGuardian(1, "(pid 8, eidolon-guard) is stopped (state T)");

  EXPECT_EQ(Pass(0, 1, StillFor(10, "rank 0 waits"), StillFor(10, "rank 1 waits")), Order::kStop);

  EXPECT_THAT(End().message, HasSubstr("no disk. server 1: its guardian (pid 8, eidolon-guard) is "
                                       "stopped (state T). server 0: rank 0 waits"));
}

// One server, whose process may outlive its work for 15 s.
class RunExitTest : public ::testing::Test {
 protected:
  RunExitTest() : run_({.servers = 1, .measurement = {.ranks = 1}, .exit_seconds_max = 15}, 0) {
    run_.Connected(0);
  }
  // Steps twice a second until an order is given; answers when that was.
  std::int64_t PassUntilOrder(std::int64_t from_s, Order wanted) {
    for (std::int64_t at = from_s * kSecondNs; at <= 99 * kSecondNs; at += kSecondNs / 2) {
      if (run_.Step(at) == wanted) return at / kSecondNs;
    }
    return 0;
  }

  job::Run run_;
};

TEST_F(RunExitTest, AJobWhoseGuardianIsStoppedFailsAndNamesIt) {
  (void)run_.Step(kSecondNs);
  run_.SetOutcome(0, {OutcomeReason::kCompleted, "", 0}, kSecondNs);
  run_.Disconnected(0, kSecondNs);
  EXPECT_EQ(run_.Suspects(), std::vector<std::uint32_t>{0});
  run_.SetGuardian(0, "(pid 8, eidolon-guard) is stopped (state T)");

  EXPECT_EQ(PassUntilOrder(1, Order::kStop), 16);
  EXPECT_EQ(PassUntilOrder(17, Order::kKill), 37);

  run_.Exited(0, "was killed by signal 9 (Killed)", 38 * kSecondNs);
  ASSERT_TRUE(run_.IsOver());
  EXPECT_EQ(run_.Judge().phase, Phase::kFailed);
  EXPECT_EQ(run_.Judge().reason, "Stuck");
  EXPECT_EQ(run_.Judge().message,
            "the agent has ended, but its process is left after 15 s: its guardian (pid 8, "
            "eidolon-guard) is stopped (state T)");
}

TEST_F(RunExitTest, APauseOfTheControllerIsNoDelayOfAGuardian) {
  run_.SetOutcome(0, {OutcomeReason::kCompleted, "", 0}, kSecondNs);

  EXPECT_EQ(run_.Step(kSecondNs), Order::kNone);
  EXPECT_EQ(run_.Step(600 * kSecondNs), Order::kNone);
}

TEST_F(RunExitTest, AVerdictThatStandsNamesTheGuardianThatHadToBeKilled) {
  run_.Interrupt(reason::kCancelled, "deleted by the user", kSecondNs);
  run_.SetGuardian(0, "(pid 8, eidolon-guard) is stopped (state T)");

  EXPECT_NE(PassUntilOrder(1, Order::kKill), 0);

  run_.Disconnected(0, 30 * kSecondNs);
  run_.Exited(0, "was killed by signal 9 (Killed)", 30 * kSecondNs);
  EXPECT_EQ(run_.Judge().message,
            "deleted by the user; its guardian (pid 8, eidolon-guard) is stopped (state T), and "
            "was killed");
}

TEST_F(RunExitTest, AnAgentThatSigkillDoesNotEndIsNotWaitedForForEver) {
  run_.Interrupt(reason::kCancelled, "deleted by the user", 0);
  EXPECT_EQ(PassUntilOrder(1, Order::kKill), 20);

  (void)run_.Step(34 * kSecondNs);
  EXPECT_FALSE(run_.IsOver());
  (void)run_.Step(36 * kSecondNs);

  EXPECT_TRUE(run_.IsOver());
}

TEST_F(RunExitTest, AnAgentThatWorksIsNoSuspect) {
  run_.SetProgress(0, {});
  EXPECT_EQ(run_.Suspects(), std::vector<std::uint32_t>{});

  run_.SetProgress(0, {.still_ns = 2 * kSecondNs});

  EXPECT_EQ(run_.Suspects(), std::vector<std::uint32_t>{0});
}

TEST(RunLimitTest, WithoutALimitAJobMayStandStill) {
  job::Run run({.servers = 1, .still_seconds_max = 0}, 0);
  run.Connected(0);
  run.SetProgress(0, {.still_ns = 900 * kSecondNs, .witness = "rank 0 waits"});

  EXPECT_EQ(run.Step(kSecondNs), Order::kNone);
}

}  // namespace
}  // namespace eidolon::controller::job
