#include "services/controller/job/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

constexpr std::uint64_t kMs = 1'000'000'000;  // Picoseconds.

MeasurementOptions TwoRanks() { return {.ranks = 2, .warmup = 1, .measure = 2}; }

RankIteration Iteration(std::int32_t rank, std::uint32_t index, std::uint64_t start_ms,
                        std::uint64_t end_ms) {
  RankIteration iteration;
  iteration.rank = rank;
  iteration.index = index;
  iteration.start_ps = start_ms * kMs;
  iteration.end_ps = end_ms * kMs;
  iteration.error_ps = kMs;
  iteration.breakdown = {6 * kMs, 2 * kMs, kMs, kMs};
  iteration.coverage = {0, 0, 9 * kMs, kMs};
  return iteration;
}

// Warm-up of 50 ms, then 10 and 12 ms; rank 1 is 1 ms behind.
std::vector<RankIteration> ThreeIterationsOfTwoRanks() {
  return {Iteration(0, 0, 0, 50),  Iteration(1, 0, 0, 51),  Iteration(0, 1, 50, 60),
          Iteration(1, 1, 51, 61), Iteration(0, 2, 60, 72), Iteration(1, 2, 61, 73)};
}

TEST(MeasurementTest, MeasuresFromTheSlowestStartToTheSlowestEndWithoutWarmup) {
  Measurement measurement(TwoRanks());

  for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);

  const Prediction prediction = measurement.Predict();
  EXPECT_TRUE(measurement.IsEnough());
  EXPECT_THAT(prediction.iteration_picoseconds, testing::ElementsAre(10 * kMs, 12 * kMs));
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds->mean, 0.011);
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds->p50, 0.011);
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds->p90, 0.0118);
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds->low, 0.011 - 0.001645);
  EXPECT_DOUBLE_EQ(prediction.iteration_seconds->high, 0.011 + 0.001645);
}

TEST(MeasurementTest, RanksWaitForTheSlowestGpu) {
  Measurement measurement(TwoRanks());
  Measurement alike(TwoRanks());
  for (auto iteration : ThreeIterationsOfTwoRanks()) {
    alike.Add(iteration);
    iteration.slowness_ps = (iteration.rank == 0 ? 1 : -1) * static_cast<std::int64_t>(kMs) / 5;
    measurement.Add(iteration);
  }

  const nlohmann::json prediction = ToJson(measurement.Predict());
  EXPECT_DOUBLE_EQ(prediction["slowerRanks"]["seconds"].get<double>(), 0.0002);
  EXPECT_DOUBLE_EQ(prediction["slowerRanks"]["share"].get<double>(),
                   0.0002 / prediction["steadyIteration"]["seconds"].get<double>());
  EXPECT_FALSE(ToJson(alike.Predict()).contains("slowerRanks"));
}

// Of each rank: 1,000 tokens that are looked up and scored.
std::vector<RankIteration> ThreeIterationsWithTokens() {
  std::vector<RankIteration> iterations = ThreeIterationsOfTwoRanks();
  for (RankIteration& iteration : iterations) {
    iteration.tokens.lookups = {{.indices = 1000, .table_rows = 5000, .row_bytes = 128}};
    if (iteration.index != 1) continue;
    iteration.tokens.gemms = {{.rows = 1000, .outputs = 5000, .inputs = 64}};
  }
  return iterations;
}

TEST(MeasurementTest, DerivesTokensOfAllRanksFromTheirLaunches) {
  MeasurementOptions options = TwoRanks();
  options.parameters = 1'000'000;
  options.peak_flops_per_gpu = 1e12;
  Measurement measurement(options);

  for (const auto& iteration : ThreeIterationsWithTokens()) measurement.Add(iteration);

  const nlohmann::json prediction = ToJson(measurement.Predict());
  EXPECT_EQ(prediction["tokensSource"], "derived");
  EXPECT_EQ(prediction["tokensPerIteration"], 2000);
  EXPECT_EQ(prediction["tokensDerived"], 2000);
  EXPECT_DOUBLE_EQ(prediction["tokensPerSecond"].get<double>(), 2000 / 0.011);
  EXPECT_DOUBLE_EQ(prediction["modelFlopsUtilization"].get<double>(),
                   6 * 1e6 * 2000 / (0.011 * 2 * 1e12));
  EXPECT_FALSE(prediction.contains("tokensNotDerived"));
}

TEST(MeasurementTest, DeclaredTokensCountBesideWhatLaunchesTell) {
  MeasurementOptions options = TwoRanks();
  options.tokens = 500;
  Measurement measurement(options);

  for (const auto& iteration : ThreeIterationsWithTokens()) measurement.Add(iteration);

  const nlohmann::json prediction = ToJson(measurement.Predict());
  EXPECT_EQ(prediction["tokensSource"], "declared");
  EXPECT_EQ(prediction["tokensPerIteration"], 500);
  EXPECT_EQ(prediction["tokensDerived"], 2000);
  EXPECT_DOUBLE_EQ(prediction["tokensPerSecond"].get<double>(), 500 / 0.011);
}

TEST(MeasurementTest, SaysWhyNoTokensAreKnown) {
  Measurement measurement(TwoRanks());

  for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);

  const nlohmann::json prediction = ToJson(measurement.Predict());
  EXPECT_EQ(prediction["tokensNotDerived"],
            "no launch looks up rows of a table, as an embedding does unless a compiler fuses it");
  for (const char* key :
       {"tokensSource", "tokensPerIteration", "tokensDerived", "tokensPerSecond"}) {
    EXPECT_FALSE(prediction.contains(key)) << key;
  }
}

TEST(MeasurementTest, TellsTheIterationThatIsUnlikeTheOthers) {
  Measurement measurement({.ranks = 2, .warmup = 1, .measure = 5});
  std::uint64_t at = 0;
  for (std::uint32_t index = 0; index < 6; ++index) {
    const std::uint64_t length = index == 4 ? 210 : 10;
    for (const std::int32_t rank : {0, 1}) {
      RankIteration iteration = Iteration(rank, index, at, at + length);
      if (index == 4) iteration.breakdown.host += 200 * kMs;
      if (index == 4 && rank == 0) iteration.copies_to_host_ps = 6 * kMs;
      measurement.Add(iteration);
    }
    at += length;
  }

  const nlohmann::json uneven = ToJson(measurement.Predict())["unevenIterations"];

  EXPECT_EQ(uneven["count"], 1);
  EXPECT_DOUBLE_EQ(uneven["otherIterationsSeconds"].get<double>(), 0.01);
  const nlohmann::json& odd = uneven["iterations"][0];
  EXPECT_EQ(odd["iteration"], 5);
  EXPECT_DOUBLE_EQ(odd["seconds"].get<double>(), 0.21);
  EXPECT_NEAR(odd["more"]["host"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(odd["more"]["copiesToHost"].get<double>(), 0.003, 1e-12)
      << "of both ranks, on average";
  EXPECT_NEAR(odd["more"]["compute"].get<double>(), 0, 1e-12);
}

TEST(MeasurementTest, SaysNothingOfEvenIterations) {
  Measurement measurement(TwoRanks());

  for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);

  EXPECT_FALSE(ToJson(measurement.Predict()).contains("unevenIterations"));
}

TEST(MeasurementTest, TellsOfTheWholeProgramOnlyWhenNoIterationWasMeasured) {
  Measurement measurement(TwoRanks());
  const RankProgram first{.rank = 0,
                          .length_ps = 40 * kMs,
                          .error_ps = kMs,
                          .launches = 7,
                          .breakdown = {30 * kMs, 0, 10 * kMs, 0},
                          .coverage = {0, 0, 30 * kMs, 0},
                          .kernels = {{"fill", "fill", "modelled", kMs, 1, kMs}}};
  RankProgram second = first;
  second.length_ps = 50 * kMs;
  second.breakdown.host = 10 * kMs;
  measurement.SetUsage(0, {.programs = {first, second}});

  const nlohmann::json whole = ToJson(measurement.Predict());
  for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);
  const nlohmann::json measured = ToJson(measurement.Predict());

  EXPECT_EQ(whole["measuredIterations"], 0);
  EXPECT_DOUBLE_EQ(whole["program"]["seconds"].get<double>(), 0.05);
  EXPECT_DOUBLE_EQ(whole["program"]["high"].get<double>(), 0.05 + 0.001645);
  EXPECT_EQ(whole["program"]["launches"], 14);
  EXPECT_DOUBLE_EQ(whole["breakdown"]["compute"].get<double>(), 60.0 / 90);
  EXPECT_EQ(whole["kernels"][0]["launches"], 2);
  EXPECT_FALSE(measured.contains("program"));
}

TEST(MeasurementTest, DoesNotDependOnTheOrderOfReports) {
  Measurement forwards(TwoRanks());
  Measurement backwards(TwoRanks());
  auto iterations = ThreeIterationsOfTwoRanks();

  for (const auto& iteration : iterations) forwards.Add(iteration);
  std::reverse(iterations.begin(), iterations.end());
  for (const auto& iteration : iterations) backwards.Add(iteration);

  EXPECT_EQ(ToJson(forwards.Predict()), ToJson(backwards.Predict()));
}

TEST(MeasurementTest, SharesAddUpToOne) {
  Measurement measurement(TwoRanks());

  for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);

  const Prediction prediction = measurement.Predict();
  EXPECT_DOUBLE_EQ(prediction.breakdown->compute, 0.6);
  EXPECT_DOUBLE_EQ(prediction.breakdown->compute + prediction.breakdown->exposed_communication +
                       prediction.breakdown->idle + prediction.breakdown->host,
                   1.0);
  EXPECT_DOUBLE_EQ(prediction.coverage->modelled + prediction.coverage->assumed, 1.0);
}

TEST(MeasurementTest, ListsKernelsOfTheFirstMeasuredIterationOverAllRanks) {
  Measurement measurement(TwoRanks());
  auto iterations = ThreeIterationsOfTwoRanks();
  const KernelTime gemm{"gemm 1x2x3", "gemm", "modelled", 5 * kMs, 10, kMs};
  const KernelTime fill{"fill", "fill", "modelled", kMs, 1, kMs};
  iterations[2].kernels = {gemm, fill};
  iterations[3].kernels = {{"gemm 1x2x3", "gemm", "modelled", 4 * kMs, 9, 100}};

  for (const auto& iteration : iterations) measurement.Add(iteration);

  const Prediction prediction = measurement.Predict();
  EXPECT_THAT(
      prediction.kernels,
      testing::ElementsAre(KernelTime{"gemm 1x2x3", "gemm", "modelled", 9 * kMs, 19, 100}, fill));
}

TEST(MeasurementTest, TellsTheMatrixWorkOfAGpuAndItsShareOfThePeak) {
  MeasurementOptions options = TwoRanks();
  options.peak_flops_per_gpu = 1e15;
  Measurement measurement(options);
  for (RankIteration iteration : ThreeIterationsOfTwoRanks()) {
    // Twice as much in warm-up, which does not count.
    iteration.counts.matrix_flops = iteration.index == 0 ? 11'000'000'000'000 : 5'500'000'000'000;
    measurement.Add(iteration);
  }

  const nlohmann::json rate = ToJson(measurement.Predict())["matrixFlops"];

  EXPECT_DOUBLE_EQ(rate["perGpu"], 5.5e12);
  EXPECT_DOUBLE_EQ(rate["perGpuAndSecond"], 5e14);
  EXPECT_DOUBLE_EQ(rate["utilization"], 0.5);
}

TEST(MeasurementTest, TellsTheEnergyOfAllGpusAndThePowerOfOne) {
  MeasurementOptions options = TwoRanks();
  options.gpus = 8;  // Six are mirrored.
  options.tokens = 1000;
  Measurement measurement(options);
  for (RankIteration iteration : ThreeIterationsOfTwoRanks()) {
    // Iterations of 11 ms; what warm-up draws does not count.
    iteration.energy = {.microjoules = iteration.index == 0 ? 99'000'000u : 5'500'000u,
                        .peak_milliwatts = iteration.rank == 1 ? 640'000u : 600'000u};
    measurement.Add(iteration);
  }

  const nlohmann::json energy = ToJson(measurement.Predict())["energy"];

  EXPECT_DOUBLE_EQ(energy["joules"], 44);
  EXPECT_DOUBLE_EQ(energy["joulesPerUnit"], 0.044);
  EXPECT_DOUBLE_EQ(energy["meanWatts"], 500);
  EXPECT_DOUBLE_EQ(energy["peakWatts"], 640);
}

TEST(MeasurementTest, SaysNothingOfEnergyWhereNoPowerIsKnown) {
  Measurement measurement(TwoRanks());
  for (const RankIteration& iteration : ThreeIterationsOfTwoRanks()) measurement.Add(iteration);

  EXPECT_FALSE(ToJson(measurement.Predict()).contains("energy"));
}

class AllocationsTest : public ::testing::Test {
 protected:
  // The split of rank 0, of which its optimizer has told `counts`.
  nlohmann::json SplitOf(const WorkCounts& counts, std::vector<RankMemory> memory) {
    Measurement measurement({.ranks = 1, .warmup = 0, .measure = 1});
    RankIteration iteration = Iteration(0, 0, 0, 10);
    iteration.counts = counts;
    measurement.Add(iteration);
    measurement.SetUsage(0, {.memory = std::move(memory)});
    return ToJson(measurement.Predict())["memory"].value("allocations", nlohmann::json());
  }
  const RankMemory memory_{.rank = 0, .peak_bytes = 1100, .allocations_bytes = 1000};
};

TEST_F(AllocationsTest, AreSplitByWhatTheOptimizerTouches) {
  const nlohmann::json split = SplitOf(
      {.parameter_bytes = 100, .gradient_bytes = 100, .optimizer_state_bytes = 200}, {memory_});

  EXPECT_EQ(split, nlohmann::json::parse(
                       R"({"parameters": 100, "gradients": 100, "optimizerState": 200,
                           "other": 600})"));
}

TEST_F(AllocationsTest, ActivationsAreTheirOwnPart) {
  RankMemory memory = memory_;
  memory.activation_bytes = 500;
  EXPECT_EQ(SplitOf({}, {memory}), nlohmann::json::parse(R"({"activations": 500, "other": 500})"));

  const WorkCounts counts = {
      .parameter_bytes = 100, .gradient_bytes = 100, .optimizer_state_bytes = 200};
  EXPECT_EQ(SplitOf(counts, {memory})["other"], 100);
  // Gradients come to lie where activations were.
  memory.activation_bytes = 800;
  EXPECT_EQ(SplitOf(counts, {memory})["activations"], 800);
  EXPECT_EQ(SplitOf(counts, {memory})["other"], 0);
}

TEST_F(AllocationsTest, AreNotSplitWhereTheSumsDoNotFitTogether) {
  EXPECT_TRUE(SplitOf({}, {memory_}).is_null());
  // More gradients than parameters: a kernel of something else was among them.
  EXPECT_TRUE(SplitOf({.parameter_bytes = 100, .gradient_bytes = 200}, {memory_}).is_null());
  // More than there is.
  EXPECT_TRUE(SplitOf({.parameter_bytes = 600, .gradient_bytes = 600}, {memory_}).is_null());
  // Of which GPU it was is not known.
  RankMemory other = memory_;
  other.device = 1;
  EXPECT_TRUE(SplitOf({.parameter_bytes = 100, .gradient_bytes = 100}, {memory_, other}).is_null());
}

TEST(MeasurementTest, CountsTheGpusOnWhichTheProgramHasBookedMemory) {
  MeasurementOptions options = TwoRanks();
  options.target = Target{.servers = 1, .ranks = 8, .used_gpus = {}, .cluster = {}};
  options.target->cluster.gpus_per_server = 8;
  Measurement measurement(options);
  EXPECT_FALSE(ToJson(measurement.Predict())["target"].contains("usedGpus"));

  measurement.SetUsage(
      0, {.memory = {{.rank = 0, .allocations_bytes = 7}, {.rank = 1, .context_bytes = 500}}});

  const nlohmann::json target = ToJson(measurement.Predict())["target"];
  EXPECT_EQ(target["gpus"], 8);
  EXPECT_EQ(target["usedGpus"], 1);
}

TEST(MeasurementTest, CutsLongKernelNamesBetweenCharacters) {
  Prediction prediction;
  prediction.kernels = {{.name = std::string(255, 'k') + "\u00e9", .family = "a", .source = "b"}};

  const nlohmann::json listed = ToJson(prediction)["kernels"];

  EXPECT_EQ(listed[0]["name"], std::string(255, 'k'));
}

TEST(MeasurementTest, AnIterationCountsWhenEveryRankHasFinishedIt) {
  Measurement measurement(TwoRanks());

  measurement.Add(Iteration(0, 0, 0, 50));
  measurement.Add(Iteration(0, 1, 50, 60));
  measurement.Add(Iteration(0, 1, 50, 60));
  measurement.Add(Iteration(1, 1, 51, 61));

  EXPECT_EQ(measurement.finished(), 0u);
  measurement.Add(Iteration(1, 0, 0, 51));
  EXPECT_EQ(measurement.finished(), 2u);
  EXPECT_FALSE(measurement.IsEnough());
  EXPECT_EQ(measurement.Predict().measured_iterations, 1u);
}

TEST(MeasurementTest, ClosingForgetsRanksThatNeverIterated) {
  Measurement measurement({.ranks = 8, .warmup = 0, .measure = 2});
  measurement.Add(Iteration(0, 0, 0, 10));
  EXPECT_EQ(measurement.Predict().measured_iterations, 0u);

  measurement.Close();

  EXPECT_EQ(measurement.Predict().measured_iterations, 1u);
}

TEST(MeasurementTest, TheBandHoldsTheErrorOfTheHostsTime) {
  const RankIteration iteration{.rank = 0,
                                .index = 0,
                                .start_ps = 0,
                                .end_ps = 1000,
                                .error_ps = 30,
                                .breakdown = {.host = 400}};
  Measurement certain({.ranks = 1, .warmup = 0, .measure = 1});
  Measurement uncertain(
      {.ranks = 1, .warmup = 0, .measure = 1, .host_time = {.cpu = "Grace", .error = 0.1}});
  certain.Add(iteration);
  uncertain.Add(iteration);

  // Half-widths: 1.645 deviations of 30 ps, and of 30 and 40 ps together.
  const auto half_width = [](const Measurement& measurement) {
    const IterationSeconds seconds = *measurement.Predict().iteration_seconds;
    return (seconds.high - seconds.mean) * 1e12;
  };
  EXPECT_NEAR(half_width(certain), 1.645 * 30, 0.01);
  EXPECT_NEAR(half_width(uncertain), 1.645 * 50, 0.01);
  EXPECT_EQ(ToJson(uncertain.Predict())["hostTime"]["cpu"], "Grace");
}

// Of 1000 ps the host works 900 on the slower rank: 20 % more would be 1080.
TEST(MeasurementTest, TheBandReachesAsFarAsTheHostsWorkWouldMakeTheStep) {
  Measurement measurement(
      {.ranks = 2, .warmup = 0, .measure = 1, .host_time = {.error = 0.2 / 1.645}});
  for (const std::int32_t rank : {0, 1}) {
    measurement.Add({.rank = rank,
                     .end_ps = 1000,
                     .host_work_ps = rank == 0 ? 500u : 900u,
                     .breakdown = {.host = 100}});
  }

  const Prediction prediction = measurement.Predict();
  EXPECT_NEAR(prediction.iteration_seconds->high * 1e12, 1080, 0.01);
  EXPECT_NEAR(prediction.iteration_seconds->low * 1e12, 920, 0.01);
  EXPECT_NEAR(ToJson(prediction)["hostTime"]["workSeconds"].get<double>() * 1e12, 900, 1e-6);
}

TEST(MeasurementTest, ReportsThroughputOnlyWhenItCanBeKnown) {
  MeasurementOptions options = TwoRanks();
  options.tokens = 1100;
  Measurement tokens_only(options);
  options.parameters = 1'000'000;
  options.peak_flops_per_gpu = 1e12;
  Measurement all(options);
  Measurement nothing(TwoRanks());

  for (Measurement* measurement : {&tokens_only, &all, &nothing}) {
    for (const auto& iteration : ThreeIterationsOfTwoRanks()) measurement->Add(iteration);
  }

  EXPECT_DOUBLE_EQ(*tokens_only.Predict().tokens_per_second, 100'000);
  EXPECT_FALSE(tokens_only.Predict().model_flops_utilization);
  EXPECT_DOUBLE_EQ(*all.Predict().model_flops_utilization, 6.0 * 1e6 * 1100 / (0.011 * 1e12 * 2));
  options.gpus = 64;
  options.folding = FoldingSummary{.ranks = 64, .mirrored = 62, .live = {0, 63}};
  Measurement folded(options);
  for (const auto& iteration : ThreeIterationsOfTwoRanks()) folded.Add(iteration);
  EXPECT_DOUBLE_EQ(*folded.Predict().model_flops_utilization,
                   6.0 * 1e6 * 1100 / (0.011 * 1e12 * 64));
  folded.SetUsage(0, {.guessed_collectives = 2});
  folded.SetUsage(1, {.guessed_collectives = 1});
  EXPECT_EQ(ToJson(folded.Predict())["folding"]["mirrored"], 62);
  EXPECT_EQ(ToJson(folded.Predict())["folding"]["guessedCollectives"], 3);
  EXPECT_FALSE(ToJson(folded.Predict())["folding"].contains("workDifferences"));
  folded.SetUsage(0, {.guessed_call_sites = {{"a.py:1", 1}},
                      .work_differences = {{"before b.py:2", 4}},
                      .work_differences_total = 9});
  folded.SetUsage(1, {.guessed_call_sites = {{"a.py:1", 2}}});
  const nlohmann::json folding = ToJson(folded.Predict())["folding"];
  EXPECT_EQ(folding["guessedCallSites"],
            nlohmann::json::parse(R"([{"where": "a.py:1", "times": 3}])"));
  EXPECT_EQ(folding["workDifferences"],
            nlohmann::json::parse(R"([{"where": "before b.py:2", "times": 4}])"));
  EXPECT_EQ(folding["workDifferencesTotal"], 9);
  EXPECT_FALSE(nothing.Predict().tokens_per_second);
  EXPECT_FALSE(ToJson(nothing.Predict()).contains("tokensPerSecond"));
}

TEST(MeasurementTest, NamesTheWorstRankAndAddsUpUsageOfServers) {
  Measurement measurement(TwoRanks());
  measurement.SetUsage(
      1,
      {.memory = {{.rank = 1,
                   .peak_bytes = 70,
                   .capacity_bytes = 80,
                   .allocations_bytes = 60,
                   .nccl_bytes = 6,
                   .context_bytes = 4}},
       .refused_calls = {{"cufftExecC2C", 2}},
       .unknown_reads = 3,
       .unknown_read_sources = {
           {.writer = "norm", .line = "train.py:40", .given = "zero", .reads = 3, .bytes = 12}}});
  measurement.SetUsage(
      0, {.memory = {{.rank = 0, .peak_bytes = 50, .capacity_bytes = 80}},
          .refused_calls = {{"cufftExecC2C", 1}},
          .unknown_reads = 4,
          .unknown_read_sources = {
              {.writer = "norm", .line = "train.py:40", .given = "zero", .reads = 2, .bytes = 8},
              {.writer = "sum", .reads = 2}}});

  const nlohmann::json prediction = ToJson(measurement.Predict());

  EXPECT_EQ(prediction["memory"]["worstRank"], 1);
  EXPECT_EQ(prediction["memory"]["peakBytes"], 60);
  EXPECT_EQ(prediction["memory"]["peakReservedBytes"], 70);
  EXPECT_EQ(prediction["memory"]["fits"], true);
  EXPECT_EQ(prediction["memory"]["ranks"].size(), 2u);
  EXPECT_EQ(prediction["unsupportedCalls"],
            nlohmann::json::parse(R"([{"name": "cufftExecC2C", "count": 3}])"));
  EXPECT_EQ(prediction["unknownReads"], 7);
  ASSERT_EQ(prediction["unknownReadSources"].size(), 2u);
  EXPECT_EQ(prediction["unknownReadSources"][0], nlohmann::json::parse(R"({
      "writer": "norm", "pointer": 0, "line": "train.py:40", "given": "zero", "reads": 5,
      "bytes": 20})"));
}

TEST(MeasurementTest, TellsTheGpusOfARankThatUsesSeveral) {
  Measurement measurement(TwoRanks());
  measurement.SetUsage(0, {.memory = {{.rank = 1, .device = 3, .peak_bytes = 3},
                                      {.rank = 0, .device = 1, .peak_bytes = 2},
                                      {.rank = 0, .device = 0, .peak_bytes = 1}}});

  const nlohmann::json ranks = ToJson(measurement.Predict())["memory"]["ranks"];

  EXPECT_EQ(ranks[0]["device"], 0);
  EXPECT_EQ(ranks[1]["device"], 1);
  EXPECT_FALSE(ranks[2].contains("device"));
}

}  // namespace
}  // namespace eidolon::controller::job
