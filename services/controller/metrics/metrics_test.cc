#include "services/controller/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace eidolon::controller::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class MetricsTest : public ::testing::Test {
 protected:
  void Finish(const std::string& name) {
    job::Prediction prediction;
    prediction.tokens_per_second = 1000;
    metrics_.SetPrediction("team", name, prediction);
    metrics_.FinishJob("team", name, "Complete", "IterationsMeasured", "8 measured");
  }
  std::string Page() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
  static std::string LabelOf(const std::string& name) { return "simulation_job=\"" + name + "\""; }

  prometheus::Registry registry_;
  Metrics metrics_{&registry_};
};

TEST_F(MetricsTest, AFinishedJobKeepsItsSeries) {
  Finish("llama");
  EXPECT_THAT(Page(), HasSubstr(LabelOf("llama")));
  metrics_.ForgetJob("team", "llama");
  EXPECT_THAT(Page(), Not(HasSubstr(LabelOf("llama"))));
}

TEST_F(MetricsTest, OfManyFinishedJobsTheLastHaveSeries) {
  for (std::size_t i = 0; i < Metrics::kFinishedJobs; ++i) Finish("job" + std::to_string(i));
  Finish("job0");  // Once more, in another attempt.
  Finish("last");

  EXPECT_THAT(Page(), HasSubstr(LabelOf("job0")));
  EXPECT_THAT(Page(), Not(HasSubstr(LabelOf("job1"))));
  EXPECT_THAT(Page(), HasSubstr(LabelOf("job2")));
  EXPECT_THAT(Page(), HasSubstr(LabelOf("last")));
  EXPECT_THAT(Page(),
              HasSubstr("eidolon_controller_finished_jobs_total{reason=\"IterationsMeasured\","
                        "result=\"Complete\"} 202"));
}

TEST_F(MetricsTest, ThroughputIsThatOfTheSteadyStateItsBandAndTheLastIteration) {
  job::Prediction prediction;
  prediction.iteration_picoseconds = {500'000'000'000, 400'000'000'000};
  prediction.throughput = {
      .unit = "tokens", .per_iteration = 8192, .per_second = 16384, .low = 15000, .high = 18000};
  metrics_.SetPrediction("team", "llama", prediction);
  for (const char* line :
       {"statistic=\"steady\",unit=\"tokens\"} 16384", "statistic=\"low\",unit=\"tokens\"} 15000",
        "statistic=\"high\",unit=\"tokens\"} 18000",
        "statistic=\"iteration\",unit=\"tokens\"} 20480"}) {
    EXPECT_THAT(Page(), HasSubstr(line));
  }

  // The samples are not derived any more, and a band begins at 0.
  prediction.iteration_picoseconds.push_back(250'000'000'000);
  prediction.throughput = {.per_second = 2, .low = 1.5};
  metrics_.SetPrediction("team", "llama", prediction);

  EXPECT_THAT(Page(), Not(HasSubstr("unit=\"tokens\"")));
  EXPECT_THAT(Page(), Not(HasSubstr("statistic=\"high\",unit")));
  EXPECT_THAT(Page(), HasSubstr("statistic=\"iteration\",unit=\"iterations\"} 4"));
}

TEST_F(MetricsTest, EnergyAndPowerAreShownWhereTheyAreKnown) {
  job::Prediction prediction;
  prediction.energy = {.joules = 12345, .mean_watts = 634.5, .peak_watts = 691};
  metrics_.SetPrediction("team", "llama", prediction);

  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_energy_joules{namespace=\"team\","
                                "simulation_job=\"llama\"} 12345"));
  EXPECT_THAT(Page(), HasSubstr("statistic=\"mean\"} 634.5"));
  EXPECT_THAT(Page(), HasSubstr("statistic=\"peak\"} 691"));
}

TEST_F(MetricsTest, MemoryIsShownBesideWhatTheGpuHas) {
  job::Prediction prediction;
  prediction.memory = {{.rank = 0, .peak_bytes = 20, .capacity_bytes = 100},
                       {.rank = 1, .peak_bytes = 30, .capacity_bytes = 60}};
  prediction.target = job::Target{.servers = 2};
  prediction.target->cluster.gpus_per_server = 8;
  metrics_.SetPrediction("team", "llama", prediction);

  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_peak_memory_bytes{namespace=\"team\","
                                "simulation_job=\"llama\"} 30"));
  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_memory_capacity_bytes{namespace=\"team\","
                                "simulation_job=\"llama\"} 60"));
  EXPECT_THAT(Page(),
              HasSubstr("eidolon_job_gpus{namespace=\"team\",simulation_job=\"llama\"} 16"));
}

TEST_F(MetricsTest, LimitsAndGainsAreThoseOfTheLastDiagnosis) {
  job::Prediction prediction;
  prediction.diagnosis = {{.rule = "host",
                           .sentence = "Limited by Python: 3.5 ms",
                           .suggestion = "CUDA graphs",
                           .cost_seconds = 0.25,
                           .least_seconds = 0.75,
                           .change = -0.25},
                          {.rule = "compute", .suggestion = "", .cost_seconds = 0.5}};
  metrics_.SetPrediction("team", "llama", prediction);
  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_limit_seconds{limit=\"host\",namespace=\"team\","
                                "simulation_job=\"llama\",suggestion=\"CUDA graphs\"} 0.25"));
  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_limit_seconds{limit=\"compute\""));
  EXPECT_THAT(Page(), HasSubstr("suggestion=\"CUDA graphs\"} 0.25"));
  EXPECT_THAT(Page(), Not(HasSubstr("eidolon_predicted_gain_ratio{limit=\"compute\"")));
  EXPECT_THAT(Page(), Not(HasSubstr("3.5 ms")));

  prediction.diagnosis.erase(prediction.diagnosis.begin());
  metrics_.SetPrediction("team", "llama", prediction);
  EXPECT_THAT(Page(), Not(HasSubstr("limit=\"host\"")));
}

TEST_F(MetricsTest, AJobRunsUntilItIsOverAndThenNamesTheLineThatFailed) {
  metrics_.SetRunning("team", "llama");
  metrics_.SetProgress("team", "llama", {.percent = 25, .remaining_seconds = 90}, {});
  EXPECT_THAT(Page(), HasSubstr("eidolon_job_state{namespace=\"team\",reason=\"\",simulation_job="
                                "\"llama\",state=\"Running\",where=\"\"} 1"));
  EXPECT_THAT(Page(), HasSubstr("eidolon_job_remaining_seconds{namespace=\"team\","
                                "simulation_job=\"llama\"} 90"));

  metrics_.FinishJob("team", "llama", "Failed", "CommandFailed",
                     "exit status 1: ValueError: secret (train.py:12); last lines (other.py:3)");
  EXPECT_THAT(Page(), Not(HasSubstr("state=\"Running\"")));
  EXPECT_THAT(Page(), HasSubstr("state=\"Failed\",where=\"train.py:12\"} 1"));
  EXPECT_THAT(Page(), HasSubstr("eidolon_job_remaining_seconds{namespace=\"team\","
                                "simulation_job=\"llama\"} 0"));
  EXPECT_THAT(Page(), Not(HasSubstr("secret")));
}

TEST_F(MetricsTest, AFailedJobKeepsItsMemoryAndNoFigureOfAnIteration) {
  job::Prediction prediction;
  prediction.iteration_seconds = job::IterationSeconds{.mean = 0.5};
  prediction.tokens_per_second = 1000;
  prediction.throughput = {.unit = "tokens", .per_iteration = 500, .per_second = 1000};
  prediction.model_flops_utilization = 0.5;
  prediction.energy = {.joules = 12345};
  prediction.breakdown = job::BreakdownShares{.compute = 1};
  prediction.diagnosis = {{.rule = "host", .suggestion = "CUDA graphs", .least_seconds = 0.25}};
  prediction.memory = {{.rank = 0, .peak_bytes = 20, .capacity_bytes = 10}};
  metrics_.SetPrediction("team", "llama", prediction);
  metrics_.SetPrediction("team", "other", prediction);
  metrics_.FinishJob("team", "llama", "Failed", "OutOfMemory", "20 bytes of 10");

  std::vector<std::string> left;
  std::istringstream lines(Page());
  for (std::string line; std::getline(lines, line);) {
    if (line.contains(LabelOf("llama"))) left.push_back(line.substr(0, line.find('{')));
  }
  EXPECT_THAT(left, UnorderedElementsAre("eidolon_predicted_peak_memory_bytes",
                                         "eidolon_predicted_memory_capacity_bytes",
                                         "eidolon_job_remaining_seconds", "eidolon_job_state"));
  EXPECT_THAT(Page(), HasSubstr("eidolon_predicted_tokens_per_second{namespace=\"team\","
                                "simulation_job=\"other\"} 1000"));
}

TEST_F(MetricsTest, AMessageWithoutALineNamesNone) {
  for (const char* message : {"8 iterations (of 10)", "no", "out of memory; last lines (a.py:3)"}) {
    metrics_.FinishJob("team", "llama", "Failed", "OutOfMemory", message);
    EXPECT_THAT(Page(), HasSubstr("where=\"\"} 1")) << message;
  }
}

TEST_F(MetricsTest, ASweepHasItsPointsByPhaseUntilItIsDeleted) {
  metrics_.SetSweep("team", "gpus", {{"pending", 3}, {"complete", 1}});
  EXPECT_THAT(Page(), HasSubstr("eidolon_sweep_points{namespace=\"team\",phase=\"pending\","
                                "simulation_sweep=\"gpus\"} 3"));
  metrics_.SetSweep("team", "gpus", {{"pending", 0}, {"complete", 4}});
  metrics_.FinishSweep("team", "gpus", "Complete");
  EXPECT_THAT(Page(), HasSubstr("eidolon_controller_finished_sweeps_total{result=\"Complete\"} 1"));
  EXPECT_THAT(Page(), HasSubstr("simulation_sweep=\"gpus\"} 4"));
  metrics_.ForgetSweep("team", "gpus");
  EXPECT_THAT(Page(), Not(HasSubstr("gpus")));
}

TEST_F(MetricsTest, ASweepSaysWhetherItIsSuspended) {
  metrics_.SetSweepSuspended("team", "gpus", true);
  EXPECT_THAT(Page(), HasSubstr("eidolon_sweep_suspended{namespace=\"team\","
                                "simulation_sweep=\"gpus\"} 1"));
  metrics_.SetSweepSuspended("team", "gpus", false);
  EXPECT_THAT(Page(), HasSubstr("simulation_sweep=\"gpus\"} 0"));
  metrics_.ForgetSweep("team", "gpus");
  EXPECT_THAT(Page(), Not(HasSubstr("gpus")));
}

TEST_F(MetricsTest, CountsOfSweepsBeginAtZero) {
  EXPECT_THAT(Page(), HasSubstr("eidolon_controller_finished_sweeps_total{result=\"Failed\"} 0"));
}

TEST_F(MetricsTest, OfManyFinishedSweepsTheLastHaveSeries) {
  metrics_.SetSweep("team", "open", {{"pending", 1}});
  for (std::size_t i = 0; i <= Metrics::kFinishedSweeps; ++i) {
    metrics_.SetSweep("team", "s" + std::to_string(i), {{"complete", 1}});
    metrics_.FinishSweep("team", "s" + std::to_string(i), "Complete");
  }

  EXPECT_THAT(Page(), Not(HasSubstr("simulation_sweep=\"s0\"")));
  EXPECT_THAT(Page(), HasSubstr("simulation_sweep=\"s1\""));
  EXPECT_THAT(Page(), HasSubstr("simulation_sweep=\"open\""));
}

}  // namespace
}  // namespace eidolon::controller::metrics
