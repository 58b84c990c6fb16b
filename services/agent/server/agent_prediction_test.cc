// Tests the predictions of an agent: iterations, event log, use.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "services/agent/server/agent_fixture.h"
#include "services/contract/workload/copy_kind.h"

namespace eidolon::agent::server {
namespace {

namespace fs = std::filesystem;
namespace wire = ::eidolon::ring;
using wire::RecordKind;

class AgentPredictionTest : public AgentFixture {};

TEST_F(AgentPredictionTest, PredictsTheIterationsOfTwoRanks) {
  assignment_.set_ranks_per_server(2);
  assignment_.mutable_iterations()->set_warmup(1);
  assignment_.mutable_iterations()->set_measure(3);
  StartAndWaitForCommand();
  std::thread second([&] {
    FakeRank rank(directory_, {.rank = 1, .world_size = 2});
    Train(rank, 2, 1, 4);
  });
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    Train(rank, 2, 0, 4);
    second.join();
  }
  EndCommand(0);

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 8u);
  for (const auto& iteration : iterations) {
    if (iteration.index() == 0) continue;
    const auto length = iteration.end_picoseconds() - iteration.start_picoseconds();
    const auto& parts = iteration.breakdown();
    EXPECT_EQ(parts.compute_picoseconds() + parts.exposed_communication_picoseconds() +
                  parts.idle_picoseconds() + parts.host_picoseconds(),
              length);
    // 40 kernels of 10 us with gaps of 1 us, an all-reduce of 100 us, the optimizer, and the host.
    EXPECT_EQ(parts.compute_picoseconds(), 410 * kMicrosecond);
    EXPECT_EQ(parts.exposed_communication_picoseconds(), 100 * kMicrosecond);
    EXPECT_GT(iteration.error_picoseconds(), 0u);
    EXPECT_EQ(iteration.coverage().assumed_picoseconds(), 0u);
    std::uint64_t listed = 0;
    for (const auto& kernel : iteration.coverage().kernels()) listed += kernel.picoseconds();
    const bool is_first = iteration.index() == assignment_.iterations().warmup();
    EXPECT_EQ(listed, is_first ? iteration.coverage().modelled_picoseconds() : 0u);
  }
}

// Kernels of two ranks that tensor cores bound, on GPUs that are dealt out by the seed: the faster
// one waits in the all-reduce.
TEST_F(AgentPredictionTest, ARankWithASlowerGpuIsWaitedFor) {
  timing_.CountMatrixFlops(1'000'000);
  assignment_.set_ranks_per_server(2);
  assignment_.mutable_iterations()->set_measure(3);
  assignment_.mutable_variation()->set_seed(1);
  StartAndWaitForCommand();
  std::thread second([&] {
    FakeRank rank(directory_, {.rank = 1, .world_size = 2});
    Train(rank, 2, 1, 3);
  });
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    Train(rank, 2, 0, 3);
    second.join();
  }
  EndCommand(0);

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  std::map<int, std::uint64_t> compute;
  std::map<int, std::int64_t> slowness;
  for (const auto& iteration : controller_->iterations()) {
    compute[iteration.rank()] = iteration.breakdown().compute_picoseconds();
    slowness[iteration.rank()] = iteration.slowness_picoseconds();
  }
  // The slower of two is 0.59 deviations of 1.03 % slower than average, the other as much faster.
  for (const int rank : {0, 1}) {
    const double average = 410.0 * kMicrosecond;
    EXPECT_NEAR(std::abs(static_cast<double>(slowness[rank])), 0.00607 * average, 1e-4 * average);
    EXPECT_NEAR(static_cast<double>(compute[rank]), average + static_cast<double>(slowness[rank]),
                2);
  }
  EXPECT_LT(slowness[0] * slowness[1], 0);
}

// What the agent has sent of each kind; "refused: ..." where it said why not.
std::map<controller::v1::OutputKind, std::string> Sent(
    const std::vector<controller::v1::AgentReport>& reports) {
  std::map<controller::v1::OutputKind, std::string> sent;
  for (const auto& report : reports) {
    if (!report.has_output()) continue;
    EXPECT_LE(report.output().data().size(), 1u << 20);
    std::string& file = sent[report.output().kind()];
    file += report.output().data();
    if (!report.output().error().empty()) file += "refused: " + report.output().error();
    if (report.output().is_last()) file += " END";
  }
  return sent;
}

std::string FileOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TEST_F(AgentPredictionTest, SendsItsTimelineToAControllerThatCannotReadItsFolder) {
  assignment_.mutable_iterations()->set_measure(2);
  assignment_.mutable_timeline()->set_iterations(1);
  assignment_.mutable_timeline()->set_operations_max(1000);
  assignment_.set_sent_output_bytes_max(1 << 20);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1});
    Train(rank, 1, 0, 3);
  }
  EndCommand(0);
  WaitForOutcome();

  const auto sent = Sent(controller_->reports());

  const std::string timeline = FileOf(directory_ + "/timeline.pftrace");
  EXPECT_GT(timeline.size(), 100u);
  EXPECT_TRUE(sent.at(controller::v1::OUTPUT_KIND_TIMELINE) == timeline + " END");
  EXPECT_TRUE(sent.at(controller::v1::OUTPUT_KIND_TRACES) ==
              FileOf(directory_ + "/critical_path") + " END");
  EXPECT_TRUE(controller_->reports().back().has_outcome());
}

TEST_F(AgentPredictionTest, SendsItsRecordingToAControllerThatCannotReadItsFolder) {
  assignment_.mutable_iterations()->set_measure(2);
  assignment_.set_keep_recording(true);
  assignment_.set_sent_output_bytes_max(1 << 20);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1});
    Train(rank, 1, 0, 3);
  }
  EndCommand(0);
  WaitForOutcome();

  const auto sent = Sent(controller_->reports());

  ASSERT_EQ(sent.size(), 1u);
  const std::string recording = FileOf(directory_ + "/recording");
  EXPECT_GT(recording.size(), 100u);
  EXPECT_TRUE(sent.at(controller::v1::OUTPUT_KIND_RECORDING) == recording + " END");
}

TEST_F(AgentPredictionTest, KeepsNoMoreOfARecordingThanItMaySend) {
  assignment_.mutable_iterations()->set_measure(2);
  assignment_.set_keep_recording(true);
  assignment_.set_sent_output_bytes_max(100);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1});
    Train(rank, 1, 0, 3);
  }
  EndCommand(0);
  WaitForOutcome();

  EXPECT_EQ(Sent(controller_->reports()).at(controller::v1::OUTPUT_KIND_RECORDING),
            "refused: recording rank 0: a rank's operations do not fit into 100 bytes END");
}

TEST_F(AgentPredictionTest, SaysThatATimelineIsTooLargeToSend) {
  assignment_.mutable_iterations()->set_measure(2);
  assignment_.mutable_timeline()->set_iterations(1);
  assignment_.mutable_timeline()->set_operations_max(1000);
  assignment_.set_sent_output_bytes_max(100);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0, .world_size = 1});
    Train(rank, 1, 0, 3);
  }
  EndCommand(0);
  WaitForOutcome();

  const std::string said = Sent(controller_->reports()).at(controller::v1::OUTPUT_KIND_TIMELINE);

  EXPECT_EQ(said.find("refused: it has "), 0u) << said;
  EXPECT_NE(said.find("more than the 100 that the controller keeps"), std::string::npos) << said;
}

TEST_F(AgentPredictionTest, ACollectiveWhoseSourceTheNetworkLeavesOutIsAssumed) {
  network_.SetSource(common::v1::ESTIMATE_SOURCE_UNSPECIFIED);
  assignment_.mutable_iterations()->set_warmup(1);
  assignment_.mutable_iterations()->set_measure(3);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    Train(rank, 1, 0, 4);
  }
  EndCommand(0);

  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 4u);
  for (const auto& iteration : iterations) {
    const auto& coverage = iteration.coverage();
    EXPECT_EQ(coverage.modelled_picoseconds(), iteration.breakdown().compute_picoseconds());
    EXPECT_EQ(coverage.assumed_picoseconds(), 100 * kMicrosecond);
  }
  EXPECT_EQ(metrics_.unknown_sources.Value(), 4);
}

TEST_F(AgentPredictionTest, ARankLearnsTheEndOfItsCollectiveWhileAnotherIsBehind) {
  network_.Foresee();
  assignment_.set_ranks_per_server(2);
  StartAndWaitForCommand();
  {
    FakeRank behind(directory_, {.rank = 1, .world_size = 2});
    FakeRank rank(directory_, {.rank = 0, .world_size = 2});
    Prepare(rank);
    rank.Join(400, "own", 1, 0);
    rank.AllReduce(0, 400, 0);
    for (int i = 0; i < 20; ++i) rank.writer().Launch(0, 100);
    // Without lookahead this waits until the other rank's clock is as far.
    const std::uint64_t asked = rank.clock();
    rank.Ask(RecordKind::kSynchronizeStream, 0);
    // A launch's latency, the collective, and 20 kernels of 10 us with gaps of 1 us.
    EXPECT_EQ(rank.clock() - asked, (3 + 100 + 20 * 11) * kMicrosecond);
    EXPECT_EQ(network_.foreseen(), 1);
    EXPECT_EQ(behind.clock(), 0u);
    // The agent's own time has not gone past the rank that is behind: what it does still counts.
    behind.writer().DefineKernel(100, "vectorized_elementwise_kernel");
    behind.writer().Launch(0, 100);
    behind.Ask(RecordKind::kSynchronizeStream, 0);
    EXPECT_LT(behind.clock(), 100 * kMicrosecond);
  }
  EndCommand(0);
  EXPECT_EQ(WaitForOutcome().reason(), controller::v1::OUTCOME_REASON_COMPLETED);
}

TEST_F(AgentPredictionTest, TheEventLogDoesNotDependOnRealTime) {
  std::string logs[2];
  for (int run = 0; run < 2; ++run) {
    if (run == 1) fs::remove(directory_ + "/done");
    assignment_.set_ranks_per_server(2);
    StartAndWaitForCommand();
    std::thread second([&] {
      if (run == 1)
        std::this_thread::sleep_for(
            std::chrono::milliseconds(50));  // A delay injected into one rank.
      FakeRank rank(directory_, {.rank = 1, .world_size = 2});
      Train(rank, 2, 1, 3);
    });
    {
      FakeRank rank(directory_, {.rank = 0, .world_size = 2});
      Train(rank, 2, 0, 3);
      second.join();
    }
    EndCommand(0);
    WaitForOutcome();
    logs[run] = EventLog();
    network_server_.reset();
    network_.~FakeNetwork();
    new (&network_) FakeNetwork(1);
  }
  EXPECT_FALSE(logs[0].empty());
  EXPECT_EQ(logs[0], logs[1]);
}

TEST_F(AgentPredictionTest, AJoinThatEndsLateMovesNobodyElse) {
  // Two ranks with a communicator each; one joins 50 ms later than the other, in virtual time.
  for (const bool late_joins_first : {true, false}) {
    fs::remove(directory_ + "/done");
    assignment_.set_ranks_per_server(2);
    StartAndWaitForCommand();
    std::uint64_t end = 0;
    {
      FakeRank early(directory_, {.rank = 0, .world_size = 2});
      FakeRank late(directory_, {.rank = 1, .world_size = 2});
      late.Work(50'000 * kMicrosecond);
      const auto join_late = [&] {
        late.Join(401, "late", 1, 0);
        late.Work(1'000 * kMicrosecond);
      };

      if (late_joins_first) join_late();
      early.Join(400, "early", 1, 0);
      if (!late_joins_first) join_late();
      early.AllReduce(0, 400, 0);
      end = early.Ask(RecordKind::kSynchronizeStream, 0).value_ps;
    }
    EndCommand(0);
    WaitForOutcome();

    EXPECT_EQ(end, 1'103 * kMicrosecond) << "the join, the launch, and the all-reduce";
    std::uint64_t clamped = 0;
    for (const auto& report : controller_->reports()) {
      if (report.has_usage()) clamped = report.usage().clamped_records();
    }
    EXPECT_EQ(clamped, 0u);
    network_server_.reset();
    network_.~FakeNetwork();
    new (&network_) FakeNetwork(1);
  }
}

TEST_F(AgentPredictionTest, NamedRangesAreIterations) {
  assignment_.mutable_iterations()->set_nvtx("step");
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    Prepare(rank);
    const std::string name = "step";
    for (int step = 0; step < 3; ++step) {
      rank.writer().Append(RecordKind::kRangePush,
                           wire::MarkRecord{{}, 0, static_cast<std::uint32_t>(name.size()), 0},
                           std::as_bytes(std::span(name.data(), name.size())));
      rank.Work(5 * kMicrosecond);
      rank.writer().Launch(0, 100);
      rank.Ask(RecordKind::kSynchronizeStream, 0);
      rank.writer().Append(RecordKind::kRangePop, wire::MarkRecord{});
    }
  }
  EndCommand(0);
  WaitForOutcome();

  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 3u);
  for (const auto& iteration : iterations) {
    EXPECT_EQ(iteration.end_picoseconds() - iteration.start_picoseconds(), 18 * kMicrosecond);
  }
}

TEST_F(AgentPredictionTest, AProgramWithoutIterationsIsReportedAsAWhole) {
  StartAndWaitForCommand();
  std::uint64_t end = 0;
  {
    FakeRank rank(directory_, {.rank = 0});
    for (std::uint32_t work = 500; work < 510; ++work) {
      rank.writer().DefineKernel(work, "kernel_" + std::to_string(work));
      rank.Work(30 * kMicrosecond);
      rank.writer().Launch(0, work);
    }
    end = rank.Ask(RecordKind::kSynchronizeStream, 0).value_ps;
    rank.Work(5'000 * kMicrosecond);  // Before it exits.
  }
  EndCommand(0);
  WaitForOutcome();

  EXPECT_TRUE(controller_->iterations().empty());
  controller::v1::Usage usage;
  for (const auto& report : controller_->reports()) {
    if (report.has_usage()) usage = report.usage();
  }
  ASSERT_EQ(usage.programs_size(), 1);
  const auto& program = usage.programs(0);
  EXPECT_EQ(program.picoseconds(), end);
  EXPECT_EQ(program.launches(), 10u);
  EXPECT_EQ(program.breakdown().compute_picoseconds(), 100 * kMicrosecond);
  EXPECT_EQ(program.breakdown().host_picoseconds() + program.breakdown().idle_picoseconds(),
            end - 100 * kMicrosecond);
  EXPECT_EQ(program.coverage().modelled_picoseconds(), 100 * kMicrosecond);
  EXPECT_EQ(program.coverage().kernels_size(), 10);
}

TEST_F(AgentPredictionTest, AnIterationTellsItsCopiesToTheHost) {
  assignment_.mutable_iterations()->set_nvtx("step");
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    rank.writer().DefineCopy(600, workload::CopyKind::kDeviceToHost, 4096);
    const std::string name = "step";
    for (int step = 0; step < 2; ++step) {
      rank.writer().Append(RecordKind::kRangePush,
                           wire::MarkRecord{{}, 0, static_cast<std::uint32_t>(name.size()), 0},
                           std::as_bytes(std::span(name.data(), name.size())));
      for (int copy = 0; copy < 1 + 2 * step; ++copy) rank.writer().Launch(0, 600);
      rank.Ask(RecordKind::kSynchronizeStream, 0);
      rank.writer().Append(RecordKind::kRangePop, wire::MarkRecord{});
    }
  }
  EndCommand(0);
  WaitForOutcome();

  const auto iterations = controller_->iterations();
  ASSERT_EQ(iterations.size(), 2u);
  EXPECT_EQ(iterations[0].copies_to_host_picoseconds(), 5 * kMicrosecond);
  EXPECT_EQ(iterations[1].copies_to_host_picoseconds(), 15 * kMicrosecond);
  EXPECT_EQ(iterations[1].copies_to_device_picoseconds(), 0u);
}

TEST_F(AgentPredictionTest, WhatComesAfterTheLastWantedIterationIsNotReported) {
  assignment_.mutable_iterations()->set_nvtx("step");
  assignment_.mutable_iterations()->set_warmup(1);
  assignment_.mutable_iterations()->set_measure(1);
  StartAndWaitForCommand();
  {
    FakeRank rank(directory_, {.rank = 0});
    Prepare(rank);
    const std::string name = "step";
    for (int step = 0; step < 4; ++step) {
      rank.writer().Append(RecordKind::kRangePush,
                           wire::MarkRecord{{}, 0, static_cast<std::uint32_t>(name.size()), 0},
                           std::as_bytes(std::span(name.data(), name.size())));
      rank.writer().Launch(0, 100);
      rank.writer().Append(RecordKind::kUnknownRead, wire::MarkRecord{});
      const std::int64_t booked = (step + 1) * 1000;
      rank.writer().Append(
          RecordKind::kMemory,
          wire::MemoryRecord{
              {}, wire::MemoryCategory::kAllocation, 0, 1000, static_cast<std::uint64_t>(booked)});
      rank.Ask(RecordKind::kSynchronizeStream, 0);
      rank.writer().Append(RecordKind::kRangePop, wire::MarkRecord{});
    }
  }
  EndCommand(0);
  WaitForOutcome();

  const std::string log = EventLog();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  for (const auto& report : controller_->reports()) {
    if (!report.has_usage()) continue;
    EXPECT_EQ(report.usage().unknown_reads(), 2u);
    ASSERT_EQ(report.usage().memory_size(), 1);
    EXPECT_EQ(report.usage().memory(0).peak_bytes(), 2000u);
  }
}

}  // namespace
}  // namespace eidolon::agent::server
