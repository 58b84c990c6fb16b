#include "services/controller/job/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;

json Document() {
  return json::parse(R"({
    "apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob",
    "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "7",
                 "labels": {"team": "x"}, "annotations": {"long": "y"}},
    "spec": {"cluster": {"servers": 2, "server": {"preset": "dgx-h100", "nics": {"count": 4}}},
             "command": ["torchrun", "train.py"], "env": [{"name": "SECRET", "value": "s"}]}})");
}

json Status() {
  return json::parse(R"({
    "phase": "Running",
    "conditions": [{"type": "Accepted", "status": "True"}, {"type": "Running", "status": "True"},
                   {"type": "Complete", "status": "False"}],
    "progress": {"iteration": 3, "of": 8},
    "prediction": {
      "iterationSeconds": {"mean": 0.5, "low": 0.4, "high": 0.6}, "kernels": [{"name": "k"}],
      "target": {"servers": 2, "ranks": 16, "cluster": {
        "server": {"gpu": "H100-SXM5-80GB", "gpusPerServer": 8}, "fabric": {"preset": "fat-tree"}}},
      "memory": {"peakReservedBytes": 5, "capacityBytes": 9, "fits": true, "ranks": [{"rank": 0}]}}
  })");
}

TEST(SummaryTest, ShowsWhatARowNeedsUnderItsOwnNames) {
  const json summary = SummaryOf(Document(), Status());

  EXPECT_EQ(summary["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(summary["metadata"]["labels"]["team"], "x");
  EXPECT_EQ(summary["spec"]["cluster"]["server"], json({{"preset", "dgx-h100"}}));
  EXPECT_EQ(summary["status"]["conditions"],
            json::array({{{"type", "Running"}, {"status", "True"}}}));
  const json& prediction = summary["status"]["prediction"];
  EXPECT_EQ(prediction["iterationSeconds"]["mean"], 0.5);
  EXPECT_EQ(prediction["target"]["cluster"]["server"]["gpu"], "H100-SXM5-80GB");
  EXPECT_EQ(prediction["memory"],
            json({{"peakReservedBytes", 5}, {"capacityBytes", 9}, {"fits", true}}));
}

TEST(SummaryTest, LeavesOutWhatIsLongOrNobodysBusiness) {
  const std::string text = SummaryOf(Document(), Status()).dump();

  for (const char* absent : {"SECRET", "annotations", "kernels", "nics", "fabric"}) {
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr(absent)));
  }
}

TEST(SummaryTest, StaysSmallWhateverTheJobHolds) {
  json document = Document();
  const std::string large(1u << 20, 'x');
  document["metadata"]["labels"] = {{"a", large}, {large, "b"}};
  document["spec"]["command"] = json::array();
  for (int i = 0; i < 1000; ++i) document["spec"]["command"].push_back(large);
  json status = Status();
  status["conditions"][1]["message"] = "\xc3\xa9" + large;

  const std::string text = SummaryOf(document, status).dump();

  EXPECT_LT(text.size(), 8000u);
}

TEST(SummaryTest, CutsBetweenCharacters) {
  json status = Status();
  std::string message;
  for (int i = 0; i < 200; ++i) message += "\xe2\x82\xac";
  status["conditions"][1]["message"] = message;

  const json summary = SummaryOf(Document(), status);

  EXPECT_EQ(summary["status"]["conditions"][0]["message"].get<std::string>().size(), 255u + 3);
}

TEST(SummaryTest, TakesDocumentsOfAnotherShape) {
  EXPECT_NO_THROW(SummaryOf(json::array(), json("x")));
  EXPECT_NO_THROW(SummaryOf({{"spec", 1}}, {{"conditions", {{"a", 1}}}, {"prediction", "x"}}));
  EXPECT_NO_THROW(SummaryOf({{"metadata", 1}, {"spec", {{"cluster", "x"}}}},
                            {{"prediction", {{"memory", 1}, {"target", 2}}}}));
}

}  // namespace
}  // namespace eidolon::controller::job
