#include "services/controller/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/controller/sweep/rows.h"

namespace eidolon::controller::sweep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kSweep[] = R"(
recording: a.eidrec
matrix:
  cluster.server.gpu: [H100-SXM5-80GB, B200-SXM-180GB]
  cluster.server.nics.gbps: [400, 800]
price: {H100-SXM5-80GB: 2, B200-SXM-180GB: 6}
)";

std::string ErrorOf(std::string_view text) {
  const auto spec = ParseSweepFile(text);
  return spec ? "" : spec.error().message;
}

json Job(const std::string& gpu, double seconds, double tokens = 0) {
  json job = {
      {"status",
       {{"phase", "Complete"},
        {"prediction",
         {{"iterationSeconds", {{"mean", seconds}}},
          {"memory", {{"capacityBytes", 100}, {"peakReservedBytes", 30}}},
          {"target",
           {{"servers", 2}, {"cluster", {{"server", {{"gpu", gpu}, {"gpusPerServer", 4}}}}}}}}}}}};
  if (tokens > 0) job["status"]["prediction"]["tokensPerSecond"] = tokens;
  return job;
}

TEST(SweepTest, HasAPointForEveryCombination) {
  const auto spec = ParseSweepFile(kSweep);
  ASSERT_TRUE(spec) << spec.error().message;
  const auto points = PointsOf(*spec);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(NameOf(points[1]), "cluster.server.gpu=H100-SXM5-80GB cluster.server.nics.gbps=800");
  EXPECT_TRUE(RunPartOf(points[1]).empty());
}

TEST(SweepTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ErrorOf("{matrix: {a: [1]}}"), HasSubstr("job: is required, or recording"));
  EXPECT_THAT(ErrorOf("{job: a, recording: b, matrix: {a: [1]}}"), HasSubstr("keep one of them"));
  EXPECT_THAT(ErrorOf("{job: a, matrix: {a: []}}"), HasSubstr("matrix.a: must be a list"));
  EXPECT_THAT(ErrorOf("{job: a, matrixes: 1}"), HasSubstr("matrixes: unknown field"));
  EXPECT_THAT(ErrorOf("{job: a, matrix: {a: [1]}, price: {H100: cheap}}"), HasSubstr("price.H100"));
  for (const char* wrong : {"dollars", "usd", "US1"}) {
    EXPECT_THAT(ErrorOf(std::string("{job: a, matrix: {a: [1]}, currency: ") + wrong + "}"),
                HasSubstr("currency: must be a code of ISO 4217"));
  }
  EXPECT_THAT(ErrorOf("{recording: a, matrix: {servers: [1, 2]}}"),
              HasSubstr("matrix.servers: changes what the program does"));
  EXPECT_EQ(ErrorOf("{job: a, matrix: {servers: [1, 2]}, currency: EUR}"), "");
}

TEST(SweepTest, KnowsWhatARecordingAnswers) {
  EXPECT_TRUE(IsReplayed("cluster.server.gpu"));
  EXPECT_TRUE(IsReplayed("cluster.fabric"));
  EXPECT_TRUE(IsReplayed("replay.hostFactor"));
  EXPECT_TRUE(IsReplayed("replay.communicationFactor"));
  EXPECT_FALSE(IsReplayed("replay.recording"));
  EXPECT_FALSE(IsReplayed("cluster.server.gpusPerServer"));
  EXPECT_FALSE(IsReplayed("cluster.servers"));
  EXPECT_FALSE(IsReplayed("env.BATCH"));
}

TEST(SweepTest, AReplayKeepsWhatSaysHowToPredict) {
  const json spec = {{"cluster", {{"servers", 2}}},        {"workingDirectory", "/gone"},
                     {"outputs", {{"recording", true}}},   {"hostModel", {{"kind", "fixed"}}},
                     {"values", {{"declared", "a list"}}}, {"replay", {{"hostFactor", 2}}},
                     {"folding", {{"livePerClass", 1}}}};

  json replay = ReplaySpecOf(spec, "/a.eidrec");

  EXPECT_EQ(replay, json({{"cluster", {{"servers", 2}}},
                          {"hostModel", {{"kind", "fixed"}}},
                          {"values", json::object()},
                          {"folding", {{"livePerClass", 1}}},
                          {"replay", {{"hostFactor", 2}, {"recording", "/a.eidrec"}}}}));
  replay["replay"].erase("hostFactor");
  replay["variation"] = "none";
  EXPECT_EQ(ReplaySpecOfRecorded(spec, "/a.eidrec"), replay) << "recorded before GPUs differed";
}

TEST(SweepTest, PutsValuesIntoTheJob) {
  json job = {{"spec", {{"env", {{{"name", "BATCH"}, {"value", "1"}}}}}}};
  ApplyPoint({{"env.BATCH", 8}, {"cluster.server.nics.gbps", 800}}, &job);
  EXPECT_EQ(job["spec"]["env"], json({{{"name", "BATCH"}, {"value", "8"}}}));
  EXPECT_EQ(job["spec"]["cluster"]["server"]["nics"]["gbps"], 800);
}

TEST(SweepTest, RanksRowsByThroughputAndMarksTheFront) {
  const auto spec = ParseSweepFile(kSweep);
  ASSERT_TRUE(spec);
  const auto point = [](const char* name) { return SweepPoint{{"cluster.server.gpu", name}}; };
  std::vector<json> rows = {
      RowOf(point("slow and dear"), Job("B200-SXM-180GB", 3), *spec, true),
      RowOf(point("cheap"), Job("H100-SXM5-80GB", 2), *spec, true),
      RowOf(point("failed"), {{"status", {{"phase", "Failed"}}}}, *spec, true),
      RowOf(point("fast"), Job("B200-SXM-180GB", 1), *spec, true)};
  RankRows(&rows);
  EXPECT_EQ(rows[0]["name"], "cluster.server.gpu=fast");
  EXPECT_EQ(rows[3]["name"], "cluster.server.gpu=failed");
  EXPECT_EQ(rows[0]["costPerHour"], 48);
  EXPECT_NEAR(rows[0]["costPerUnit"].get<double>(), 48.0 / 3.6, 1e-9);
  EXPECT_TRUE(rows[0]["front"].get<bool>());
  EXPECT_TRUE(rows[1]["front"].get<bool>());
  EXPECT_FALSE(rows[2]["front"].get<bool>());
  EXPECT_FALSE(rows[3]["front"].get<bool>());
}

TEST(SweepTest, ComparesIterationsWhereNotAllPointsTellTheirTokens) {
  const auto spec = ParseSweepFile(kSweep);
  ASSERT_TRUE(spec);
  const auto point = [](const char* name) { return SweepPoint{{"cluster.server.gpu", name}}; };
  std::vector<json> rows = {RowOf(point("slow"), Job("B200-SXM-180GB", 3, 1000), *spec, true),
                            RowOf(point("fast"), Job("B200-SXM-180GB", 1), *spec, true)};
  RankRows(&rows);
  EXPECT_EQ(rows[0]["name"], "cluster.server.gpu=fast");
  EXPECT_FALSE(rows[1].contains("tokensPerSecond"));
  EXPECT_NEAR(rows[1]["costPerUnit"].get<double>(), 3 * 48.0 / 3.6, 1e-9);
}

constexpr char kObject[] = R"({
  "apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationSweep", "metadata": {"name": "gpus"},
  "spec": {"job": {"cluster": {"servers": 1, "server": {"gpu": "H100-SXM5-80GB"}},
                   "command": ["true"]},
           "matrix": {"cluster.server.gpu": ["H100-SXM5-80GB", "B200-SXM-180GB"]},
           "concurrency": 2}})";

TEST(SweepTest, AFileAndAnObjectSayTheSame) {
  const auto of_file = ParseSweepFile(kObject);
  const ParsedSweep of_object = ParseSweep(json::parse(kObject), job::Mode::kEmbedded);

  ASSERT_TRUE(of_file) << of_file.error().message;
  EXPECT_EQ(job::Describe(of_object.problems), "");
  EXPECT_EQ(of_file->job, of_object.spec.job);
  EXPECT_EQ(of_file->matrix, of_object.spec.matrix);
  EXPECT_EQ(of_object.spec.concurrency, 2u);
}

std::string ProblemsOf(const json& change, job::Mode mode = job::Mode::kEmbedded) {
  json document = json::parse(kObject);
  document.merge_patch(change);
  return job::Describe(ParseSweep(document, mode).problems);
}

TEST(SweepTest, NamesWhatIsWrongWithEveryPointWhereItStands) {
  EXPECT_THAT(ProblemsOf({{"spec", {{"job", {{"server", 2}}}}}}),
              HasSubstr("/spec/job/server: unknown field, did you mean 'servers'"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"matrix", {{"servers", {0}}}}}}}),
              HasSubstr("/spec/matrix/servers: must be a whole number"));
  EXPECT_EQ(ProblemsOf({{"spec", {{"matrix", {{"servers", {0, 1}}}}}}}), "");
  EXPECT_THAT(
      ProblemsOf({{"spec", {{"job", {{"cluster", nullptr}, {"clusterRef", {{"name", "a"}}}}}}}}),
      HasSubstr("/spec/matrix/cluster.server.gpu: cannot be swept while"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"job", {{"suspend", true}}}}}}),
              HasSubstr("/spec/job/suspend"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"concurrency", 0}}}}), HasSubstr("/spec/concurrency"));
  EXPECT_THAT(ProblemsOf({{"metadata", {{"name", std::string(41, 'a')}}}}),
              HasSubstr("/metadata/name: must have at most 40"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"job", "job.yaml"}}}}),
              HasSubstr("/spec/job: must be the spec"));
}

// Each of several hundred points has its value of the long field, and the status has all points.
TEST(SweepTest, OnKubernetesItsPointsFitIntoItsStatus) {
  json servers = json::array();
  for (int i = 1; i <= 200; ++i) servers.push_back(i);
  const auto with = [&](std::size_t bytes) {
    const json change = {
        {"spec",
         {{"job", {{"image", "train:1"}}},
          {"matrix", {{"servers", servers}, {"env.NOTE", {std::string(bytes, 'x')}}}}}}};
    return ProblemsOf(change, job::Mode::kKubernetes);
  };

  EXPECT_THAT(with(1000), HasSubstr("/spec/matrix: has values of"));
  EXPECT_THAT(with(100), ::testing::Not(HasSubstr("/spec/matrix: has values of")));
}

TEST(SweepTest, RefusesReplaysWhereThereAreNone) {
  const json factor = {{"spec", {{"matrix", {{"replay.hostFactor", {0, 1}}}}}}};

  EXPECT_EQ(ProblemsOf(factor), "");
  json off = factor;
  off["spec"]["replays"] = "off";
  EXPECT_THAT(ProblemsOf(off), HasSubstr("spec.replays turns off"));
  json on_kubernetes = factor;
  on_kubernetes["spec"]["job"]["image"] = "train:1";
  EXPECT_THAT(ProblemsOf(on_kubernetes, job::Mode::kKubernetes),
              HasSubstr("/spec/matrix/replay.hostFactor: exists in embedded mode only"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"recording", "/a.eidrec"}}}}, job::Mode::kKubernetes),
              HasSubstr("/spec/recording: exists in embedded mode only"));
  EXPECT_THAT(ProblemsOf({{"spec", {{"recording", "a.eidrec"}}}}), HasSubstr("absolute path"));
}

}  // namespace
}  // namespace eidolon::controller::sweep
