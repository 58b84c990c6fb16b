#include "services/controller/shown/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "services/controller/shown/comparison_text.h"

namespace eidolon::controller::shown {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json Job(const std::string& name, const std::string& gpu, double mean) {
  json job = json::parse(R"({
    "metadata": {"namespace": "default"},
    "spec": {"command": ["torchrun", "train.py"], "cluster": {"preset": "unlike what it means"},
             "iterations": {"measure": 5}},
    "status": {
      "phase": "Complete",
      "conditions": [{"type": "Complete", "status": "True", "reason": "IterationsMeasured"}],
      "prediction": {
        "breakdown": {"compute": 0.75, "exposedCommunication": 0.25, "idle": 0, "host": 0},
        "memory": {"peakReservedBytes": 1073741824, "capacityBytes": 85024112640, "fits": true,
                   "byCategory": {"allocations": 536870912}},
        "kernels": [{"name": "gemm", "family": "gemm", "seconds": 2.0},
                    {"name": "collective", "family": "all_reduce ring", "seconds": 1.0}],
        "target": {"servers": 1, "ranks": 2, "cluster": {"server": {"gpusPerServer": 2}}}}}})");
  job["metadata"]["name"] = name;
  json& prediction = job["status"]["prediction"];
  prediction["target"]["cluster"]["server"]["gpu"] = gpu;
  prediction["iterationSeconds"] = {{"mean", mean}, {"low", 0.9 * mean}, {"high", 1.1 * mean}};
  return job;
}

TEST(ComparisonTest, SaysHowMuchFasterAndWhetherTheBandsOverlap) {
  const json apart = CompareJobs(Job("a", "H100", 2), Job("b", "B200", 1));
  const json close = CompareJobs(Job("a", "H100", 1), Job("b", "B200", 1.1));

  EXPECT_EQ(apart["time"]["speedup"], 2.0);
  EXPECT_EQ(apart["time"]["bandsOverlap"], false);
  EXPECT_THAT(FormatComparison(apart),
              HasSubstr("B is 2 times as fast as A; the bands do not overlap"));
  EXPECT_EQ(close["time"]["bandsOverlap"], true);
  EXPECT_THAT(FormatComparison(close),
              HasSubstr("A is 1.1 times as fast as B; the bands overlap: errors that both"));
  EXPECT_THAT(FormatComparison(CompareJobs(Job("a", "H100", 1), Job("b", "H100", 1))),
              HasSubstr("both predict the same time"));
}

TEST(ComparisonTest, NoTextOfAJobForgesALine) {
  const std::string evil = "a\n  iteration  1 s\r\x1b[2J";
  json first = Job("a", "H100", 2);
  first["metadata"]["name"] = evil;
  first["spec"]["command"][1] = evil;
  first["spec"][evil] = 1;
  first["status"]["conditions"][0]["reason"] = evil;
  json& prediction = first["status"]["prediction"];
  prediction["target"]["cluster"]["server"]["gpu"] = evil;
  prediction["kernels"] = {{{"name", evil}, {"seconds", 1}},
                           {{"name", "collective"}, {"family", evil}, {"seconds", 1}}};

  const std::string text = FormatComparison(CompareJobs(first, Job("b", "H100", 1)));

  EXPECT_THAT(text, HasSubstr("a\\x0a  iteration  1 s"));
  EXPECT_THAT(text, Not(HasSubstr("a\n  iteration  1 s")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ComparisonTest, ComparesSecondsOfEachPartOfTheTime) {
  const json compared = CompareJobs(Job("a", "H100", 2), Job("b", "H100", 1));

  const json& compute = compared["breakdown"][0];
  EXPECT_EQ(compute["name"], "compute");
  EXPECT_EQ(compute["first"], 1.5);
  EXPECT_EQ(compute["second"], 0.75);
  EXPECT_EQ(compute["firstShare"], 0.75);
  EXPECT_EQ(compute["change"], -0.5);
}

TEST(ComparisonTest, ListsKernelsAndCollectivesThatAppearVanishOrChange) {
  json second = Job("b", "H100", 1);
  second["status"]["prediction"]["target"]["ranks"] = 4;
  second["status"]["prediction"]["kernels"] = json::parse(R"([
    {"name": "gemm", "family": "gemm", "seconds": 4.0},
    {"name": "flash", "family": "attention", "seconds": 2.0},
    {"name": "collective", "family": "all_reduce tree", "seconds": 1.0}])");

  const json compared = CompareJobs(Job("a", "H100", 1), second);

  // Per rank, gemm takes as long.
  ASSERT_EQ(compared["kernels"].size(), 1);
  EXPECT_EQ(compared["kernels"][0], json({{"name", "flash"}, {"second", 0.5}}));
  ASSERT_EQ(compared["collectives"].size(), 2);
  EXPECT_EQ(compared["collectives"][0], json({{"name", "all_reduce ring"}, {"first", 0.5}}));
  EXPECT_EQ(compared["collectives"][1], json({{"name", "all_reduce tree"}, {"second", 0.25}}));
  const std::string text = FormatComparison(compared);
  EXPECT_THAT(text, ::testing::ContainsRegex("flash +- +500.0 ms +only B\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("all_reduce ring +500.0 ms +- +only A\n"));
  EXPECT_THAT(text, Not(HasSubstr("gemm")));
}

TEST(ComparisonTest, NamesFieldsThatDifferWithTheClusterAsItWasPredicted) {
  json second = Job("b", "B200", 1);
  second["spec"]["command"] = {"torchrun", "other.py"};
  second["spec"]["iterations"] = {{"measure", 9}, {"tokens", 100}};

  const json fields = CompareJobs(Job("a", "H100", 1), second)["fields"];

  EXPECT_EQ(fields, json::parse(R"([
    {"path": "cluster.server.gpu", "first": "H100", "second": "B200"},
    {"path": "spec.command", "first": ["torchrun", "train.py"], "second": ["torchrun", "other.py"]},
    {"path": "spec.iterations.measure", "first": 5, "second": 9},
    {"path": "spec.iterations.tokens", "second": 100}])"));
}

TEST(ComparisonTest, ComparesMemoryByKind) {
  json second = Job("b", "H100", 1);
  second["status"]["prediction"]["memory"]["peakReservedBytes"] = 2147483648;
  second["status"]["prediction"]["memory"]["fits"] = false;

  const std::string text = FormatComparison(CompareJobs(Job("a", "H100", 1), second));

  EXPECT_THAT(text, ::testing::ContainsRegex("peak memory +1.0 GiB +2.0 GiB +\\+100.0 %\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("fits +true +false\n"));
}

TEST(ComparisonTest, JobsWithoutATimeOrWithTimesOfAnotherKindAreComparedAllTheSame) {
  json program = Job("b", "H100", 1);
  program["status"]["prediction"].erase("iterationSeconds");
  program["status"]["prediction"]["program"] = {{"seconds", 3}, {"low", 2}, {"high", 4}};
  const json first = Job("a", "H100", 1);

  EXPECT_THAT(FormatComparison(CompareJobs(first, program)),
              HasSubstr("one predicts an iteration, the other a whole program"));
  EXPECT_FALSE(CompareJobs(first, program)["time"].contains("speedup"));
  EXPECT_THAT(FormatComparison(CompareJobs(first, json::object())),
              HasSubstr("B predicts no time"));
  EXPECT_THAT(FormatComparison(CompareJobs(json(), json())), HasSubstr("neither predicts a time"));
}

}  // namespace
}  // namespace eidolon::controller::shown
