#include "services/cli/bench/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/base/text.h"

namespace eidolon::cli::bench {
namespace {

using base::StrCat;
using ::testing::HasSubstr;

// A median of Google Benchmark.
std::string Entry(const std::string& name, double ns, const std::string& counters) {
  return StrCat(R"({"run_name": ")", name, R"(", "aggregate_name": "median", "real_time": )", ns,
                R"(, "cpu_time": 1, "time_unit": "ns")", counters, "}");
}
std::string Document(const std::string& entries) {
  return StrCat(R"({"benchmarks": [)", entries, "]}");
}

base::Result<std::string> Answer(const Program& program) {
  const std::string& name = program.command[0];
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (has("launch")) {
    return Document(Entry("CallThroughPointer", 2, R"(, "median_ns": 2)") + "," +
                    Entry("LaunchOfThreeParameters", 99, R"(, "median_ns": 80)") + "," +
                    Entry("LaunchOfFourKilobytes", 1200, ""));
  }
  if (has("session")) {
    return Document(Entry("DrainLaunches", 1, R"(, "items_per_second": 1000000)"));
  }
  if (has("timeline")) {
    return Document(Entry("BM_WriteTimeline/64/1000000/2", 2.5e9,
                          R"(, "file_bytes": 26000000, "bytes_per_operation": 26)"));
  }
  if (has("cubin_index")) {
    EXPECT_EQ(program.environment[0].second, "/site/torch/lib/libtorch_cuda.so");
    return Document(Entry("IndexLibrary/FirstProcess/manual_time", 6e8, "") + "," +
                    Entry("IndexLibrary/LaterProcess/manual_time", 2e7, ""));
  }
  if (has("compute_bench")) {
    EXPECT_EQ(program.environment[0].second, "/site/torch/lib/libtorch_cuda.so");
    return Document(Entry("Interpret", 1e6, R"(, "items_per_second": 1500000000)"));
  }
  if (name == "python" && program.command[3] == "drive") {
    EXPECT_EQ(program.command[4], "/b/bin/eidolon");
    return "eidolon-bench plain_add_seconds 2e-06\neidolon-bench lazy_add_seconds 2.5e-07\n"
           "eidolon-bench eager_add_seconds 4.5e-06\neidolon-bench read_add_seconds 8e-06\n"
           "eidolon-bench step_seconds 0.006\neidolon-bench step_percent 1.5\n";
  }
  if (name == "python" && program.command[2] == ReplayProgram()) {
    EXPECT_EQ(program.command[3], "/b/bin/eidolon");
    return "eidolon-bench replay_differences 0\neidolon-bench replay_seconds 0.5\n"
           "eidolon-bench replay_run_seconds 20\neidolon-bench replay_factor 40\n";
  }
  if (name == "python" && program.command[2] == JobProgram()) {
    EXPECT_EQ(program.command[3], "/b/bin/eidolon");
    if (program.command[4] == "lora") {
      return base::Fail(base::ErrorCode::kInternal, "python lacks peft: pip install peft");
    }
    EXPECT_EQ(program.command[5], QuickstartProgram());
    return "eidolon-bench job_seconds 15.5\neidolon-bench job_processor_seconds 30\n";
  }
  if (name == "python" && program.command.back() == "stock") {
    return "eidolon-bench stock_resident_bytes 552599552\n"
           "eidolon-bench library /site/torch/lib/libtorch_cuda.so\n"
           "eidolon-bench torch 2.15.0 cuda=13.2\n";
  }
  if (has("eidolon") && program.command[1] == "run") {
    return "some warning\neidolon-bench resident_bytes 288358400\n"
           "eidolon-bench step_operations 150\n"
           "eidolon-bench step_launches_per_second 90000\n"
           "eidolon-bench add_launches_per_second 500000\n"
           "eidolon-bench growth_of_64_gib_bytes 131072\nthe report\n";
  }
  return base::Fail(base::ErrorCode::kNotFound, name + ": No such file or directory");
}

class SuiteTest : public ::testing::Test {
 protected:
  const Figure& Of(const std::string& key) const {
    const auto found = std::find_if(figures_.begin(), figures_.end(),
                                    [&](const Figure& figure) { return figure.key == key; });
    EXPECT_NE(found, figures_.end()) << key;
    return *found;
  }
  void Measure(const ProgramRunner& run) {
    figures_ = MeasureAll(
        {.benchmark_directory = "/b/bench", .command = "/b/bin/eidolon", .python = "python"}, run);
  }
  void MeasureJobsToo() {
    figures_ = MeasureAll({.benchmark_directory = "/b/bench",
                           .command = "/b/bin/eidolon",
                           .python = "python",
                           .jobs = true},
                          Answer);
  }
  std::vector<Figure> figures_;
};

TEST_F(SuiteTest, SetsFiguresBesideGoals) {
  Measure(Answer);
  EXPECT_EQ(*Of("shim.launch").value, 80);
  EXPECT_EQ(Judge(Of("shim.launch")), Verdict::kMet);
  EXPECT_EQ(Of("shim.launch").note, "40 plain calls");
  EXPECT_EQ(Judge(Of("agent.records")), Verdict::kMissed);
  EXPECT_EQ(*Of("torch.launches").value, 90000);
  EXPECT_THAT(Of("torch.launches").note, HasSubstr("2.15.0"));
  EXPECT_EQ(*Of("torch.resident").value, 275);
  EXPECT_EQ(Of("torch.resident").note, "527 MB for the stock import alone");
  EXPECT_DOUBLE_EQ(*Of("torch.residentOfStock").value, 100 * 275.0 / 527.0);
  EXPECT_EQ(*Of("memory.growth").value, 128);
  EXPECT_EQ(*Of("shim.firstIndex").value, 600);
  EXPECT_EQ(*Of("shim.laterIndex").value, 20);
}

TEST_F(SuiteTest, SetsTheCostOfValuesBesideItsGoals) {
  Measure(Answer);
  EXPECT_DOUBLE_EQ(*Of("values.lazyAdd").value, 0.25);
  EXPECT_EQ(Judge(Of("values.lazyAdd")), Verdict::kMet);
  EXPECT_DOUBLE_EQ(*Of("values.eagerAdd").value, 4.5);
  EXPECT_EQ(Judge(Of("values.eagerAdd")), Verdict::kMissed);
  EXPECT_EQ(Of("values.eagerAdd").note, "8 us when each result is copied out");
  EXPECT_EQ(Judge(Of("values.instructions")), Verdict::kMet);
  EXPECT_DOUBLE_EQ(*Of("values.largeStep").value, 1.5);
  EXPECT_EQ(Of("values.largeStep").note, "6 ms with values off");
}

TEST_F(SuiteTest, SetsAReplayBesideItsRun) {
  Measure(Answer);
  EXPECT_EQ(*Of("replay.differences").value, 0);
  EXPECT_EQ(Judge(Of("replay.differences")), Verdict::kMet);
  EXPECT_EQ(*Of("replay.factor").value, 40);
  EXPECT_EQ(Judge(Of("replay.factor")), Verdict::kMet);
  EXPECT_EQ(Of("replay.factor").note, "run 20 s, replay 0.5 s");
}

TEST_F(SuiteTest, SetsATimelineBesideItsGoals) {
  Measure(Answer);
  EXPECT_DOUBLE_EQ(*Of("timeline.seconds").value, 2.5);
  EXPECT_EQ(Judge(Of("timeline.seconds")), Verdict::kMet);
  EXPECT_DOUBLE_EQ(*Of("timeline.megabytes").value, 26);
  EXPECT_EQ(Judge(Of("timeline.megabytes")), Verdict::kMet);
  EXPECT_THAT(Of("timeline.megabytes").note, HasSubstr("26 bytes for an operation"));
}

TEST_F(SuiteTest, SetsWholeJobsBesideTheirGoalsWhenAskedTo) {
  MeasureJobsToo();
  EXPECT_DOUBLE_EQ(*Of("job.quickstart").value, 15.5);
  EXPECT_EQ(Judge(Of("job.quickstart")), Verdict::kMet);
  EXPECT_DOUBLE_EQ(*Of("job.quickstartProcessor").value, 30);
  EXPECT_EQ(Judge(Of("job.lora")), Verdict::kNotMeasured);
  EXPECT_THAT(Of("job.lora").value.error().message, HasSubstr("pip install peft"));

  Measure(Answer);
  EXPECT_TRUE(std::ranges::none_of(
      figures_, [](const Figure& figure) { return figure.key.starts_with("job."); }));
}

TEST_F(SuiteTest, ABenchmarkThatIsNotThereIsNamed) {
  Measure(Answer);
  EXPECT_EQ(Judge(Of("network.commit")), Verdict::kNotMeasured);
  EXPECT_THAT(Of("network.commit").value.error().message, HasSubstr("/b/bench/network_bench"));
}

TEST_F(SuiteTest, WithoutTorchOnlyItsFiguresAreMissing) {
  Measure([](const Program& program) -> base::Result<std::string> {
    if (program.command[0] != "python") return Answer(program);
    return base::Fail(base::ErrorCode::kInternal,
                      "python ended with 1: ModuleNotFoundError: No module named 'torch'");
  });
  EXPECT_EQ(Judge(Of("shim.launch")), Verdict::kMet);
  for (const char* key :
       {"torch.launches", "torch.resident", "memory.growth", "shim.firstIndex", "values.lazyAdd",
        "replay.factor", "values.instructions", "values.largeStep"}) {
    EXPECT_EQ(Judge(Of(key)), Verdict::kNotMeasured) << key;
    EXPECT_THAT(Of(key).value.error().message, HasSubstr("No module named 'torch'"));
  }
}

TEST_F(SuiteTest, TheProgramsAreBuiltIn) {
  EXPECT_THAT(std::string(ValuesProgram()), HasSubstr("eidolon-bench"));
  EXPECT_THAT(std::string(TorchProgram()), HasSubstr("eidolon-bench"));
  EXPECT_THAT(std::string(ReplayProgram()), HasSubstr("eidolon-bench"));
  EXPECT_THAT(std::string(JobProgram()), HasSubstr("eidolon-bench"));
  EXPECT_THAT(std::string(QuickstartProgram()), HasSubstr("fully_shard"));
  EXPECT_THAT(std::string(LoraProgram()), HasSubstr("peft"));
}

}  // namespace
}  // namespace eidolon::cli::bench
