#include "services/cli/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSweep[] = R"(
recording: a.eidrec
matrix:
  cluster.server.gpu: [H100-SXM5-80GB, B200-SXM-180GB]
  cluster.server.nics.gbps: [400, 800]
price: {H100-SXM5-80GB: 2, B200-SXM-180GB: 6}
)";

std::string ErrorOf(std::string_view text) {
  const auto spec = ParseSweep(text);
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
  const auto spec = ParseSweep(kSweep);
  ASSERT_TRUE(spec) << spec.error().message;
  const auto points = PointsOf(*spec);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(NameOf(points[1]), "cluster.server.gpu=H100-SXM5-80GB cluster.server.nics.gbps=800");
  EXPECT_TRUE(RunPartOf(points[1]).empty());
}

TEST(SweepTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ErrorOf("{matrix: {a: [1]}}"), HasSubstr("job or recording is required"));
  EXPECT_THAT(ErrorOf("{job: a, recording: b, matrix: {a: [1]}}"), HasSubstr("not both"));
  EXPECT_THAT(ErrorOf("{job: a, matrix: {a: []}}"), HasSubstr("matrix.a must be a list"));
  EXPECT_THAT(ErrorOf("{job: a, matrixes: 1}"), HasSubstr("matrixes is unknown"));
  EXPECT_THAT(ErrorOf("{job: a, matrix: {a: [1]}, price: {H100: cheap}}"), HasSubstr("price.H100"));
  EXPECT_THAT(ErrorOf("{recording: a, matrix: {servers: [1, 2]}}"),
              HasSubstr("matrix.servers changes what the program does"));
  EXPECT_EQ(ErrorOf("{job: a, matrix: {servers: [1, 2]}}"), "");
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

TEST(SweepTest, PutsValuesIntoTheJob) {
  json job = {{"spec", {{"env", {{{"name", "BATCH"}, {"value", "1"}}}}}}};
  ApplyPoint({{"env.BATCH", 8}, {"cluster.server.nics.gbps", 800}}, &job);
  EXPECT_EQ(job["spec"]["env"], json({{{"name", "BATCH"}, {"value", "8"}}}));
  EXPECT_EQ(job["spec"]["cluster"]["server"]["nics"]["gbps"], 800);
}

TEST(SweepTest, RanksRowsByThroughputAndMarksTheFront) {
  const auto spec = ParseSweep(kSweep);
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
  EXPECT_THAT(SweepTable(rows), HasSubstr("Failed"));
}

TEST(SweepTest, NoNameBreaksATableOrAPicture) {
  const auto spec = ParseSweep(kSweep);
  ASSERT_TRUE(spec);
  const std::string evil = "a\",<script>\x1b[31m";
  std::vector<json> rows = {
      RowOf({{"cluster.server.gpu", evil}}, Job("H100-SXM5-80GB", 1, 500), *spec, true)};
  RankRows(&rows);
  EXPECT_THAT(SweepSvg(rows), Not(HasSubstr("<script>")));
  EXPECT_THAT(SweepCsv(rows), HasSubstr("\"a\"\",<script>"));
  EXPECT_THAT(SweepCsv(rows), HasSubstr(",500,"));
}

}  // namespace
}  // namespace eidolon::cli
