#include "services/controller/job/throughput.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "services/controller/job/measurement.h"

namespace eidolon::controller::job {
namespace {

constexpr std::uint64_t kMillisecondPs = 1'000'000'000;  // Picoseconds.

RankIteration IterationOf(std::uint32_t index, std::uint64_t start_ms, std::uint64_t end_ms) {
  RankIteration iteration;
  iteration.index = index;
  iteration.start_ps = start_ms * kMillisecondPs;
  iteration.end_ps = end_ms * kMillisecondPs;
  iteration.error_ps = kMillisecondPs;
  iteration.breakdown = {6 * kMillisecondPs, 2 * kMillisecondPs, kMillisecondPs, kMillisecondPs};
  return iteration;
}

// 10 and 12 ms.
std::vector<RankIteration> TwoIterations() {
  return {IterationOf(0, 0, 10), IterationOf(1, 10, 22)};
}

// One rank; 10 ms each, and 40 ms more of forward passes in each fourth one from the first on.
std::vector<RankIteration> NineIterationsWithEvaluations() {
  std::vector<RankIteration> iterations;
  std::uint64_t at = 0;
  for (std::uint32_t index = 0; index < 9; ++index) {
    const bool evaluates = index % 4 == 0;
    const std::uint64_t length = evaluates ? 50 : 10;
    iterations.push_back(IterationOf(index, at, at + length));
    RankIteration& iteration = iterations.back();
    if (evaluates) iteration.breakdown.compute += 40 * kMillisecondPs;
    if (evaluates) iteration.error_ps = 5 * kMillisecondPs;
    iteration.counts = {.matrix_flops = evaluates ? 5'000u : 1'000u, .parameter_bytes = 64};
    iteration.tokens.lookups = {
        {.indices = evaluates ? 9'000u : 1'000u, .table_rows = 5'000, .row_bytes = 128}};
    if (index == 0) iteration.tokens.gemms = {{.rows = 9'000, .outputs = 5'000, .inputs = 64}};
    at += length;
  }
  return iterations;
}

TEST(ThroughputTest, TheSteadyIterationThroughputAndSharesAreWithoutEvaluations) {
  Measurement measurement({.warmup = 0, .measure = 9});

  for (const auto& iteration : NineIterationsWithEvaluations()) measurement.Add(iteration);

  const nlohmann::json prediction = ToJson(measurement.Predict());
  EXPECT_NEAR(prediction["iterationSeconds"]["mean"].get<double>(), 0.21 / 9, 1e-12);
  const nlohmann::json& steady = prediction["steadyIteration"];
  EXPECT_DOUBLE_EQ(steady["seconds"].get<double>(), 0.01);
  EXPECT_DOUBLE_EQ(steady["low"].get<double>(), 0.01 - 0.001645);
  EXPECT_DOUBLE_EQ(steady["high"].get<double>(), 0.01 + 0.001645);
  EXPECT_EQ(steady["count"], 6);
  ASSERT_EQ(prediction["extraWork"].size(), 1u);
  const nlohmann::json& extra = prediction["extraWork"][0];
  EXPECT_EQ(extra["what"], "evaluation");
  EXPECT_EQ(extra["every"], 4);
  EXPECT_EQ(extra["times"], 3);
  EXPECT_NEAR(extra["seconds"].get<double>(), 0.04, 1e-12);
  EXPECT_NEAR(extra["secondsPerIteration"].get<double>(), 0.01, 1e-12);
  EXPECT_EQ(prediction["throughput"]["unit"], "tokens");
  EXPECT_EQ(prediction["throughput"]["perIteration"], 1000) << "of the evaluations, too";
  EXPECT_NEAR(prediction["throughput"]["perSecond"].get<double>(), 1e5, 1e-6);
  EXPECT_NEAR(prediction["throughput"]["low"].get<double>(), 1000 / (0.01 + 0.001645), 1e-6);
  EXPECT_NEAR(prediction["throughput"]["high"].get<double>(), 1000 / (0.01 - 0.001645), 1e-6);
  EXPECT_DOUBLE_EQ(prediction["breakdown"]["compute"].get<double>(), 0.6);
}

TEST(ThroughputTest, ThroughputIsInSamplesWhereTheyAreDeclaredAndElseInIterations) {
  MeasurementOptions options{.warmup = 0, .measure = 2};
  Measurement nothing(options);
  options.samples = 44;
  Measurement samples(options);
  options.tokens = 1100;
  Measurement both(options);

  for (Measurement* measurement : {&nothing, &samples, &both}) {
    for (const auto& iteration : TwoIterations()) measurement->Add(iteration);
  }

  EXPECT_EQ(nothing.Predict().throughput->unit, "iterations");
  EXPECT_DOUBLE_EQ(nothing.Predict().throughput->per_second, 1 / 0.011);
  EXPECT_EQ(samples.Predict().throughput->unit, "samples");
  EXPECT_DOUBLE_EQ(samples.Predict().throughput->per_second, 4000);
  EXPECT_EQ(both.Predict().throughput->unit, "tokens");
  EXPECT_DOUBLE_EQ(both.Predict().throughput->per_second, 100'000);
}

TEST(ThroughputTest, SamplesOfAModelOfImagesAreDerivedUnlessTheyAreDeclared) {
  MeasurementOptions options{.warmup = 0, .measure = 2};
  Measurement derived(options);
  options.samples = 44;
  Measurement declared(options);
  for (RankIteration iteration : TwoIterations()) {
    if (iteration.index == 0) {
      iteration.tokens.gemms = {{.rows = 33, .outputs = 1000, .inputs = 2048},
                                {.rows = 33, .outputs = 2048, .inputs = 1000}};
      iteration.kernels = {{.name = "cudnn graph", .family = "convolution"}};
    }
    derived.Add(iteration);
    declared.Add(iteration);
  }

  const nlohmann::json throughput = ToJson(derived.Predict())["throughput"];
  EXPECT_EQ(throughput["unit"], "samples");
  EXPECT_EQ(throughput["source"], "derived");
  EXPECT_DOUBLE_EQ(throughput["perSecond"].get<double>(), 33 / 0.011);
  EXPECT_EQ(ToJson(declared.Predict())["throughput"]["perIteration"], 44);
  EXPECT_EQ(ToJson(declared.Predict())["throughput"]["source"], "declared");
}

TEST(ThroughputTest, TenThousandIterationsAreListed) {
  Measurement measurement({.warmup = 0, .measure = 10'001});
  for (std::uint32_t index = 0; index <= 10'000; ++index) {
    measurement.Add(IterationOf(index, 10 * index, 10 * index + 10));
  }

  EXPECT_EQ(ToJson(measurement.Predict())["iterationPicoseconds"].size(), 10'000u);
}

}  // namespace
}  // namespace eidolon::controller::job
