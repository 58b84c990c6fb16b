#include "services/cli/sweep_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "services/cli/follow_sweep.h"
#include "services/controller/sweep/sweep.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(SweepDocumentTest, AFileOfTheCommandIsASweepForAController) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "job.yaml") << R"(
apiVersion: eidolon.dev/v1alpha1
kind: SimulationJob
metadata: {name: a}
spec:
  cluster: {servers: 1, server: {preset: dgx-h100}}
  command: [torchrun, train.py]
  code: {directory: .}
)";

  const auto document = MakeSweepDocument("{job: job.yaml, matrix: {servers: [1]}, price: {A: 1}}",
                                          root / "GPUs & more.yaml");

  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ((*document)["metadata"]["name"], "gpus---more");
  EXPECT_THAT((*document)["spec"]["job"]["code"]["directory"].get<std::string>(),
              ::testing::StartsWith(root.path()));
  EXPECT_EQ((*document)["spec"]["price"], json({{"A", 1}}));
  const auto parsed = controller::sweep::ParseSweep(*document, controller::job::Mode::kEmbedded);
  EXPECT_EQ(controller::job::Describe(parsed.problems), "");
}

TEST(SweepDocumentTest, ARecordingIsNamedByItsWholePath) {
  const auto document =
      MakeSweepDocument("{recording: a.eidrec, matrix: {replay.hostFactor: [1]}}", "/x/s.yaml");

  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["spec"]["recording"], "/x/a.eidrec");
  EXPECT_FALSE((*document)["spec"].contains("job"));
}

TEST(SweepDocumentTest, SaysWhatIsWrong) {
  EXPECT_THAT(MakeSweepDocument("{job: no.yaml, matrix: {a: [1]}}", "/x/s.yaml").error().message,
              HasSubstr("/x/no.yaml"));
  EXPECT_THAT(MakeSweepDocument("{matrix: {}}", "s.yaml").error().message, HasSubstr("matrix"));
}

TEST(SweepDocumentTest, ProgressCountsPointsThatAreKnown) {
  const json sweep = {
      {"status", {{"counts", {{"points", 8}, {"running", 2}, {"complete", 3}, {"failed", 1}}}}}};

  EXPECT_EQ(FormatSweepProgress(sweep), "4 of 8 points, 2 running, 1 without a prediction");
}

}  // namespace
}  // namespace eidolon::cli
