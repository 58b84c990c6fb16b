#include "services/cli/replay_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/controller/job/job.h"

namespace eidolon::cli {
namespace {

using controller::job::Describe;
using controller::job::Mode;
using controller::job::ParseJob;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

RecordedJob Recorded() {
  const json job = json::parse(R"({
    "apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob", "metadata": {"name": "llama"},
    "spec": {"cluster": {"servers": 2, "server": {"preset": "dgx-h100", "gpusPerServer": 4}},
             "command": ["torchrun", "train.py"], "workingDirectory": "/gone",
             "iterations": {"warmup": 1, "measure": 2}, "hostModel": {"kind": "fixed"},
             "variation": "published", "variationSeed": 5,
             "outputs": {"recording": true, "eventLog": true}}})");
  const json status = {{"prediction", {{"iterationSeconds", {{"mean", 0.5}}}}},
                       {"simulation", {{"wallSeconds", 40.0}}}};
  const auto read = ReadRecordedJob(json{{"job", job}, {"status", status}}.dump());
  EXPECT_TRUE(read);
  return *read;
}

json Replayed(double mean) {
  return {{"status",
           {{"prediction", {{"iterationSeconds", {{"mean", mean}}}}},
            {"simulation", {{"wallSeconds", 1.0}}}}}};
}

TEST(ReplayDocumentTest, IsTheJobWithoutWhatOnlyTheProgramNeeds) {
  const json document = MakeReplayDocument(Recorded(), "/data/a.eidrec", {});
  const auto job = ParseJob(document, Mode::kEmbedded);
  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.replay.recording, "/data/a.eidrec");
  EXPECT_EQ(job.spec.cluster->gpus_per_server, 4u);
  EXPECT_EQ(job.spec.iterations.measure, 2u);
  EXPECT_EQ(job.spec.host_model, controller::job::HostModel::kFixed);
  EXPECT_TRUE(job.spec.varies);
  EXPECT_EQ(job.spec.variation_seed, 5u);
  EXPECT_TRUE(job.spec.working_directory.empty());
  EXPECT_FALSE(job.spec.recording);
}

TEST(ReplayDocumentTest, GpusOfRecordingsThatDoNotSayAreAlike) {
  RecordedJob recorded = Recorded();
  recorded.job["spec"].erase("variation");

  const auto job = ParseJob(MakeReplayDocument(recorded, "/a", {}), Mode::kEmbedded);

  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_FALSE(job.spec.varies);
}

TEST(ReplayDocumentTest, ChangesWhatItIsTold) {
  const json document = MakeReplayDocument(Recorded(), "/a",
                                           {.gpu = "B200-SXM-180GB",
                                            .gpu_clock = 0.9,
                                            .nics = 8,
                                            .nic_gbps = 800,
                                            .fabric = "fat-tree",
                                            .host_factor = 0});
  const auto job = ParseJob(document, Mode::kEmbedded);
  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.cluster->gpu, "B200-SXM-180GB");
  EXPECT_EQ(job.spec.cluster->gpu_clock, 0.9);
  EXPECT_EQ(document["spec"]["cluster"]["server"]["nics"]["gbps"], 800);
  EXPECT_EQ(document["spec"]["cluster"]["fabric"]["preset"], "fat-tree");
  EXPECT_EQ(job.spec.replay.host_factor, 0);
}

TEST(ReplayDocumentTest, AnotherPresetKeepsTheNumberOfGpus) {
  const json document = MakeReplayDocument(Recorded(), "/a", {.preset = "dgx-b200"});
  const json server = document["spec"]["cluster"]["server"];
  EXPECT_EQ(server["preset"], "dgx-b200");
  EXPECT_EQ(server["gpusPerServer"], 4);
}

TEST(ReplayDocumentTest, NamesWhatARecordingLacks) {
  EXPECT_THAT(ReadRecordedJob("").error().message, HasSubstr("no job block"));
  EXPECT_THAT(ReadRecordedJob("{").error().message, HasSubstr("not JSON"));
  EXPECT_THAT(ReadRecordedJob("{}").error().message, HasSubstr("no cluster"));
  EXPECT_THAT(ReadRecordedJob(R"({"job": {"spec": 1}})").error().message, HasSubstr("no cluster"));
}

TEST(ReplayDocumentTest, SaysThatNothingChangedOrByHowMuch) {
  const std::string same = FormatReplay(Recorded(), Replayed(0.5), 0);
  EXPECT_THAT(same, HasSubstr("the same prediction to the last digit"));
  EXPECT_THAT(same, HasSubstr("40.0 times as fast as the run"));
  EXPECT_THAT(same, Not(HasSubstr("asked")));
  const std::string faster = FormatReplay(Recorded(), Replayed(0.25), 3);
  EXPECT_THAT(faster, HasSubstr("2.000 times as fast"));
  EXPECT_THAT(faster, HasSubstr("3 times the program asked"));
}

}  // namespace
}  // namespace eidolon::cli
