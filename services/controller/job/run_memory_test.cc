// Runs of which a server ran out of host memory.
#include <gtest/gtest.h>

#include "services/controller/job/run.h"

namespace eidolon::controller::job {
namespace {

constexpr std::int64_t kNowNs = 1'000'000'000;

// Two servers of one rank each.
class RunMemoryTest : public ::testing::Test {
 protected:
  RunMemoryTest()
      : run_({.servers = 2, .measurement = {.ranks = 2, .warmup = 1, .measure = 2}}, 0) {
    run_.Connected(0);
    run_.Connected(1);
  }
  void End(std::uint32_t server, OutcomeReason reason, const std::string& message) {
    run_.SetOutcome(server, {reason, message, 0}, kNowNs);
  }
  void Exit(std::uint32_t server, const std::string& how) {
    run_.Disconnected(server, kNowNs);
    run_.Exited(server, how, kNowNs);
  }

  job::Run run_;
};

TEST_F(RunMemoryTest, HostMemoryThatRanOutIsNotExplainedByTheGpus) {
  run_.SetUsage(1, {.memory = {{.rank = 1, .peak_bytes = 80, .capacity_bytes = 80}}});
  End(0, OutcomeReason::kPeerLost, "ranks of server 1 have gone");
  End(1, OutcomeReason::kOutOfHostMemory, "host memory reached its limit of 16.00 GiB");
  Exit(0, "ended with status 0");
  Exit(1, "ended with status 0");

  const Verdict verdict = run_.Judge();

  EXPECT_EQ(verdict.reason, "OutOfMemory");
  EXPECT_EQ(verdict.message, "server 1: host memory reached its limit of 16.00 GiB");
}

TEST_F(RunMemoryTest, AnAgentThatWasKilledForMemoryIsOutOfMemory) {
  End(0, OutcomeReason::kPeerLost, "ranks of server 1 have gone");

  run_.NoteMemoryKill(1, "its host memory reached the limit of 16Gi");
  Exit(1, "was killed by signal 9 (OOMKilled)");
  Exit(0, "ended with status 0");

  EXPECT_EQ(run_.Judge().reason, "OutOfMemory");
  EXPECT_EQ(run_.Judge().message, "server 1: its host memory reached the limit of 16Gi");
}

TEST_F(RunMemoryTest, WhatAnAgentHasToldOfItsEndCountsMoreThanAKill) {
  for (const std::uint32_t server : {0u, 1u}) End(server, OutcomeReason::kCompleted, "ended");

  run_.NoteMemoryKill(1, "its host memory reached the limit of 16Gi");
  Exit(0, "ended with status 0");
  Exit(1, "was killed by signal 9 (OOMKilled)");

  EXPECT_EQ(run_.Judge().reason, "NoIterations");
}

}  // namespace
}  // namespace eidolon::controller::job
