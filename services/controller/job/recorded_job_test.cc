#include "services/controller/job/recorded_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 64 ranks on 8 servers.
ResolvedJob Job() {
  ResolvedJob job{.servers = 8, .ranks_per_server = 8};
  job.spec.folding = {.mode = FoldingSpec::Mode::kRequired, .live_per_class = 1};
  return job;
}

// The head of its recording: its run has found that its ranks are of two classes.
std::string Head() {
  ResolvedJob job = Job();
  Problems problems;
  FoldJob(0, std::vector<folding::Dimension>{{.stride = 32, .size = 2}}, &job, &problems);
  EXPECT_THAT(problems, IsEmpty());
  return RecordingHead({{"spec", json::object()}}, json::object(), job);
}

// What a replay of it reports.
Problems ProblemsOf(ResolvedJob replay) {
  Problems problems;
  FoldAsRecorded(Head(), &replay, &problems);
  EXPECT_FALSE(replay.fold.is_folded());
  return problems;
}

TEST(RecordedJobTest, KeepsOfTheEnvironmentWhatNcclReads) {
  const json document = {
      {"spec",
       {{"cluster", {{"servers", 1}}},
        {"env",
         {{{"name", "TOKEN"}, {"value", "secret"}}, {{"name", "NCCL_ALGO"}, {"value", "Ring"}}}}}}};

  const json recorded = RecordedJob(document, {});

  EXPECT_EQ(recorded["spec"]["env"], json::array({{{"name", "NCCL_ALGO"}, {"value", "Ring"}}}));
  EXPECT_EQ(recorded["spec"]["cluster"], document["spec"]["cluster"]);
  EXPECT_EQ(recorded["spec"]["variation"], "published");
}

TEST(RecordedJobTest, HasTheClusterInThePlaceOfItsName) {
  const json document = {{"spec", {{"clusterRef", {{"name", "pod"}}}}}};

  const json recorded = RecordedJob(document, {{"servers", 4}});

  EXPECT_EQ(recorded["spec"]["cluster"], json({{"servers", 4}}));
  EXPECT_FALSE(recorded["spec"].contains("clusterRef"));
}

TEST(RecordedJobTest, AReplayHasTheClassesThatItsRunHasFound) {
  for (const auto mode : {FoldingSpec::Mode::kRequired, FoldingSpec::Mode::kAuto}) {
    ResolvedJob replay = Job();
    replay.spec.folding.mode = mode;
    Problems problems;

    FoldAsRecorded(Head(), &replay, &problems);

    EXPECT_THAT(problems, IsEmpty());
    EXPECT_THAT(replay.fold.live(), ElementsAre(0u, 32u));
    EXPECT_EQ(replay.fold.classes(), 2u);
  }
}

TEST(RecordedJobTest, AReplayOfAJobWhoseRanksAllRanIsNotFolded) {
  ResolvedJob job = Job();
  const std::string whole = RecordingHead({{"spec", json::object()}}, json::object(), job);
  Problems problems;
  for (const std::string& head : {whole, std::string(), std::string("{"), std::string("[]")}) {
    FoldAsRecorded(head, &job, &problems);
    EXPECT_FALSE(job.fold.is_folded()) << head;
  }
  EXPECT_THAT(problems, IsEmpty());
}

TEST(RecordedJobTest, AReplayOfAFoldedJobHasItsSizes) {
  ResolvedJob more = Job();
  more.servers = 16;
  ResolvedJob smaller_servers = more;
  smaller_servers.ranks_per_server = 4;
  for (const ResolvedJob& other : {more, smaller_servers}) {
    const Problems problems = ProblemsOf(other);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].pointer, "/spec/cluster");
    EXPECT_THAT(problems[0].detail, HasSubstr("the recorded job had 64, 8 on a server"));
  }
}

TEST(RecordedJobTest, AReplayOfAFoldedJobCannotRunAllRanks) {
  ResolvedJob replay = Job();
  replay.spec.folding.mode = FoldingSpec::Mode::kOff;

  const Problems problems = ProblemsOf(replay);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/folding/mode");
}

TEST(RecordedJobTest, DamagedDimensionsAreReported) {
  ResolvedJob replay = Job();
  Problems problems;

  FoldAsRecorded(R"({"folding": {"ranks": 64, "ranksPerServer": 8,
                                 "dimensions": [{"stride": 64, "size": 2}]}})",
                 &replay, &problems);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/folding");
}

}  // namespace
}  // namespace eidolon::controller::job
