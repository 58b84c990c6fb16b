#include "services/controller/diagnosis/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace eidolon::controller::diagnosis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kPython = {"torchrun", "train.py"};

// An iteration of 10 ms whose GPU computes for 9.8 ms of it.
job::Prediction BusyPrediction() {
  job::Prediction prediction;
  prediction.measured_iterations = 5;
  prediction.steady = {.seconds = 0.010, .low = 0.009, .high = 0.011, .count = 5};
  prediction.breakdown = {.compute = 0.98, .exposed_communication = 0, .idle = 0.01, .host = 0.01};
  prediction.host_time = job::HostTime{};
  prediction.host_time->work_seconds = 0.004;
  return prediction;
}

std::vector<std::string> RulesOf(const std::vector<job::Finding>& findings) {
  std::vector<std::string> rules;
  for (const job::Finding& finding : findings) rules.push_back(finding.rule);
  return rules;
}

std::vector<std::string> Rules(const job::Prediction& prediction) {
  return RulesOf(Diagnose(prediction, kPython));
}

std::map<std::string, double> EvidenceOf(const job::Finding& finding) {
  return {finding.evidence.begin(), finding.evidence.end()};
}

TEST(DiagnosisTest, WithoutAMeasuredIterationThereIsNone) {
  EXPECT_THAT(Diagnose(job::Prediction{}, kPython), IsEmpty());
}

TEST(DiagnosisTest, ABusyGpuIsLimitedByItsOwnWork) {
  job::Prediction prediction = BusyPrediction();
  prediction.matrix_rate = job::MatrixRate{.flops_per_second = 4e14, .peak = 1e15};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("compute"));
  EXPECT_EQ(
      findings[0].sentence,
      "Limited by GPU work: kernels run for 9.8 ms of 10 ms, with 40 % of the GPU's dense bf16 "
      "rate.");
  EXPECT_FALSE(findings[0].least_seconds.has_value()) << "there is no suggestion";
}

TEST(DiagnosisTest, AGpuThatWaitsForAWorkingHostIsLimitedByPython) {
  job::Prediction prediction = BusyPrediction();
  prediction.steady->seconds = 0.00384;
  prediction.breakdown = {.compute = 3.3 / 3.84, .idle = 0.04 / 3.84, .host = 0.5 / 3.84};
  prediction.host_time->work_seconds = 0.0035;

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("host"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by Python: 3.5 ms of host work for 3.3 ms of GPU work. CUDA graphs or "
            "torch.compile: up to -14 %.");
  EXPECT_EQ(findings[0].suggestion, "CUDA graphs or torch.compile");
  EXPECT_NEAR(findings[0].cost_seconds, 0.0005, 1e-9);
  EXPECT_NEAR(findings[0].least_seconds.value(), 0.0033, 1e-9) << "the GPU's work is left";
  EXPECT_NEAR(findings[0].change, 3.3 / 3.84 - 1, 1e-9);
  EXPECT_NEAR(EvidenceOf(findings[0])["gpuWaitsForHostSeconds"], 0.0005, 1e-9);
}

TEST(DiagnosisTest, AProgramWithoutPythonIsLimitedByTheHost) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.5, .host = 0.5};
  prediction.host_time->work_seconds = 0.009;

  EXPECT_THAT(Diagnose(prediction, {"/opt/bin/solver", "--fast"}).at(0).sentence,
              testing::StartsWith("Limited by the host: 9 ms of host work"));
  EXPECT_THAT(Diagnose(prediction, {"/usr/bin/python3.11", "-m", "train"}).at(0).sentence,
              testing::StartsWith("Limited by Python: 9 ms of host work"));
}

TEST(DiagnosisTest, LessThanATwentiethIsNotListed) {
  job::Prediction prediction = BusyPrediction();

  prediction.breakdown = {.compute = 0.951, .host = 0.049};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute"));
  prediction.breakdown = {.compute = 0.949, .host = 0.051};
  EXPECT_THAT(Rules(prediction), ElementsAre("host"));
}

TEST(DiagnosisTest, AGpuThatWaitsForAWaitingHostIsLimitedByInput) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.2, .host = 0.8};
  prediction.host_time->work_seconds = 0.0004;

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("input"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by input: GPUs wait 8 ms of 10 ms for hosts that work only 400 us and wait "
            "themselves (data loader, disk, sleep). More workers or prefetching: up to -76 %.");
  EXPECT_NEAR(findings[0].least_seconds.value(), 0.0024, 1e-9) << "the host's own work is left";
  prediction.host_time->work_seconds = 0.003;
  EXPECT_THAT(Rules(prediction), ElementsAre("input", "host"))
      << "1 ms of the work cannot lie beside 2 ms of the GPU's";
  prediction.host_time->work_seconds = 0.008;
  EXPECT_THAT(Rules(prediction), ElementsAre("host"));
}

job::KernelTime Kernel(const std::string& family, double milliseconds, std::uint64_t launches = 1,
                       std::uint64_t matrix_flops = 0) {
  job::KernelTime kernel{.name = family + " kernel", .family = family, .source = "modelled"};
  kernel.picoseconds = static_cast<std::uint64_t>(milliseconds * 1e9);
  kernel.launches = launches;
  kernel.shortest_picoseconds = kernel.picoseconds / launches;
  kernel.matrix_flops = matrix_flops;
  return kernel;
}

TEST(DiagnosisTest, CommunicationThatNothingHidesIsNamedWithItsAlgorithm) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.7, .exposed_communication = 0.3};
  prediction.balance = job::RankBalance{.ranks = 2, .mean_seconds = 0.007};
  prediction.kernels = {Kernel("nccl ring simple", 8), Kernel("nccl tree ll", 1)};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("communication"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by communication: nothing hides 3 ms of 10 ms, most of it nccl ring simple. "
            "Overlap with computation or a faster network: up to -30 %.");
  prediction.breakdown = {.compute = 0.98, .exposed_communication = 0.02};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute")) << "the rest is hidden";
}

TEST(DiagnosisTest, SendsThatMostlyWaitAreBubblesOfAPipeline) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.6, .exposed_communication = 0.4};
  prediction.balance = job::RankBalance{.ranks = 4, .mean_seconds = 0.006};
  prediction.kernels = {Kernel("nccl p2p simple", 4 * 3.5, 32)};
  prediction.kernels[0].shortest_picoseconds = 50'000'000;

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("pipeline", "communication"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by pipeline bubbles: stages wait 3.5 ms of 10 ms in sends and receives. More "
            "micro-batches or interleaved stages: up to -35 %.");
  EXPECT_NEAR(findings[1].cost_seconds, 0.0005, 1e-9) << "what sends do not explain";
  EXPECT_NEAR(EvidenceOf(findings[0])["transferSeconds"], 0.0004, 1e-9);
  // An exchange of experts: all transfers take equally long.
  prediction.kernels = {Kernel("nccl p2p simple", 4 * 3.5, 32)};
  EXPECT_THAT(Rules(prediction), ElementsAre("communication"));
}

TEST(DiagnosisTest, ARankThatDoesMoreThanTheOthersIsNamed) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.8, .exposed_communication = 0.2};
  prediction.balance = job::RankBalance{.ranks = 4,
                                        .slowest = 3,
                                        .slowest_seconds = 0.0099,
                                        .mean_seconds = 0.008,
                                        .excess_seconds = 0.0019};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("stragglers")) << "the others wait in collectives";
  EXPECT_EQ(findings[0].sentence,
            "Limited by rank 3: it works for 9.9 ms, the mean of all ranks is 8 ms. Equal work for "
            "all ranks: up to -19 %.");
  prediction.balance->excess_seconds = 0.0001;
  EXPECT_THAT(Rules(prediction), ElementsAre("communication"));
}

TEST(DiagnosisTest, MemoryBoundKernelsAreCountedByFamily) {
  job::Prediction prediction = BusyPrediction();
  prediction.kernels = {Kernel("gemm", 6), Kernel("elementwise", 2), Kernel("normalization", 1),
                        Kernel("elementwise", 0.5), Kernel("triton", 4)};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("memory-bound"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by memory bandwidth: kernels that move much and compute little take 3.5 ms of "
            "10 ms, most of it elementwise (2.5 ms). Fused kernels (torch.compile, a fused "
            "optimizer): up to -35 %.");
  prediction.balance = job::RankBalance{.ranks = 10};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute")) << "0.35 ms of each rank";
}

TEST(DiagnosisTest, SmallGemmsAreThoseThatTakeLessThanTheirLaunch) {
  constexpr std::uint64_t kFlops = 100 * 1'000'000'000ull;
  job::Prediction prediction = BusyPrediction();
  prediction.matrix_rate = job::MatrixRate{.flops_per_second = 1e13, .peak = 1e15};
  prediction.kernels = {Kernel("gemm", 2, 100, kFlops)};  // 1 us each at the peak rate.

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("small-gemms"));
  EXPECT_EQ(findings[0].sentence,
            "Limited by small GEMMs: 2 ms of 10 ms at 5.0 % of the GPU's dense bf16 rate. Larger "
            "batches or grouped GEMMs: up to -19 %.");
  prediction.kernels = {Kernel("gemm", 2, 10, kFlops)};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute")) << "10 us each";
  prediction.kernels = {Kernel("gemm", 0.11, 100, kFlops)};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute")) << "near the peak rate";
}

job::RankMemory Memory(std::uint64_t peak_gib, std::uint64_t activations_gib) {
  return {.rank = 2,
          .peak_bytes = peak_gib << 30,
          .capacity_bytes = std::uint64_t{80} << 30,
          .activation_bytes = activations_gib << 30};
}

TEST(DiagnosisTest, MemoryThatIsNearlyFullIsListedLast) {
  job::Prediction prediction = BusyPrediction();
  prediction.memory = {Memory(77, 20)};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("compute", "full-memory"));
  EXPECT_EQ(findings[1].sentence,
            "Memory is nearly full: rank 2 reserves 77.0 GiB of 80.0 GiB. Activation checkpointing "
            "or a smaller micro-batch leaves room.");
  prediction.memory = {Memory(75, 20)};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute"));
}

TEST(DiagnosisTest, RoomForALargerBatchIsNamedWhereFixedCostsLimit) {
  job::Prediction prediction = BusyPrediction();
  prediction.memory = {Memory(20, 10)};
  EXPECT_THAT(Rules(prediction), ElementsAre("compute"));
  prediction.breakdown = {.compute = 0.6, .host = 0.4};

  const std::vector<job::Finding> findings = Diagnose(prediction, kPython);

  ASSERT_THAT(RulesOf(findings), ElementsAre("host", "memory-room"));
  EXPECT_EQ(findings[1].sentence,
            "Memory has room: rank 2 reserves 20.0 GiB of 80.0 GiB, of which activations take 10.0 "
            "GiB. A larger micro-batch spreads fixed costs: up to 7 times as large.");
  prediction.memory = {Memory(75, 10)};
  EXPECT_THAT(Rules(prediction), ElementsAre("host"));
}

TEST(DiagnosisTest, FindingsAreInTheOrderOfWhatTheyCost) {
  job::Prediction prediction = BusyPrediction();
  prediction.breakdown = {.compute = 0.5, .exposed_communication = 0.3, .host = 0.2};
  prediction.kernels = {Kernel("copy", 1)};

  EXPECT_THAT(Rules(prediction), ElementsAre("communication", "host", "memory-bound"));
}

}  // namespace
}  // namespace eidolon::controller::diagnosis
