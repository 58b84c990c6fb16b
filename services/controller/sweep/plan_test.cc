#include "services/controller/sweep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::sweep {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A world of one sweep: what a plan creates is there at once, and a test ends jobs.
class SweepPlanTest : public ::testing::Test {
 protected:
  SweepPlanTest() {
    sweep_ = {{"metadata", {{"name", "s"}, {"uid", "7"}}}};
    spec_.job = {{"cluster", {{"server", {{"gpu", "A"}}}}},
                 {"command", {"true"}},
                 {"outputs", {{"timeline", json::object()}}}};
    spec_.matrix = {{"env.BATCH", {1, 2, 3}}};
  }

  // The names of the jobs that a plan has created; what it says is kept.
  std::vector<std::string> Step() {
    ObservedSweep observed{.sweep = sweep_,
                           .spec = spec_,
                           .jobs = jobs_,
                           .refused = refused_,
                           .recording_of = nullptr,
                           .trouble = "",
                           .now = "2026-01-01T00:00:00Z"};
    if (recordings_) observed.recording_of = [](const std::string& job) { return "/" + job; };
    const SweepPlan plan = PlanSweep(observed);
    if (plan.status) sweep_["status"] = *plan.status;
    std::vector<std::string> names;
    for (const json& job : plan.create) {
      names.push_back(job["metadata"]["name"]);
      jobs_[names.back()] = job;
    }
    return names;
  }

  void End(const std::string& job, const std::string& phase = "Complete",
           const std::string& reason = "IterationsMeasured", double seconds = 1) {
    json& status = jobs_[job]["status"];
    status["phase"] = phase;
    status["conditions"] = {{{"type", phase}, {"status", "True"}, {"reason", reason}}};
    if (phase != "Complete") return;
    status["prediction"] = {{"iterationSeconds", {{"mean", seconds}}},
                            {"memory", {{"capacityBytes", 100}, {"peakReservedBytes", 30}}}};
  }

  json Row(std::size_t index) { return sweep_["status"]["points"][index]; }

  json sweep_;
  SweepSpec spec_;
  std::map<std::string, json> jobs_;
  std::map<std::string, std::string> refused_;
  bool recordings_ = false;
};

TEST_F(SweepPlanTest, HasAsManyUnfinishedJobsAsItMayAndEndsWithAllPoints) {
  spec_.concurrency = 2;

  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p2"));
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(sweep_["status"]["phase"], "Running");
  End("s-p2", "Complete", "IterationsMeasured", 0.5);
  EXPECT_THAT(Step(), ElementsAre("s-p3"));
  End("s-p1", "Failed", "OutOfMemory");
  End("s-p3");
  EXPECT_THAT(Step(), IsEmpty());

  const json& status = sweep_["status"];
  EXPECT_EQ(status["phase"], "Complete") << status.dump(1);
  EXPECT_EQ(status["counts"], json::parse(R"({"points": 3, "pending": 0, "running": 0,
                                              "complete": 2, "failed": 1})"));
  EXPECT_EQ(status["best"]["name"], "env.BATCH=2");
  EXPECT_EQ(Row(0)["reason"], "OutOfMemory");
  EXPECT_EQ(Row(1)["front"], true);
  EXPECT_FALSE(Row(2).contains("front"));
  EXPECT_TRUE(IsSweepOver(sweep_));
  EXPECT_EQ(jobs_["s-p3"]["spec"]["env"], json::parse(R"([{"name": "BATCH", "value": "3"}])"));
  EXPECT_EQ(jobs_["s-p3"]["metadata"]["labels"][kSweepUidLabel], "7");
}

TEST_F(SweepPlanTest, APlanThatWasCarriedOutLeadsToNone) {
  Step();
  Step();
  const json before = sweep_;

  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(sweep_, before);
}

TEST_F(SweepPlanTest, WhatIsKnownStaysWhenItsJobIsDeleted) {
  Step();
  End("s-p1");
  EXPECT_THAT(Step(), ElementsAre("s-p2"));
  jobs_.erase("s-p1");

  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(Row(0)["iterationSeconds"], 1);
}

TEST_F(SweepPlanTest, AJobThatIsGoneBeforeItEndedIsMadeAgain) {
  Step();
  jobs_.erase("s-p1");

  EXPECT_THAT(Step(), ElementsAre("s-p1"));
}

TEST_F(SweepPlanTest, WhatALostControllerCutOffBeginsAgainUnderAnotherName) {
  Step();
  End("s-p1", "Interrupted", "ControllerRestarted");
  EXPECT_THAT(Step(), ElementsAre("s-p1-2"));
  // The first one is looked at no more, whether it is there or not.
  jobs_.erase("s-p1");
  EXPECT_THAT(Step(), IsEmpty());
  End("s-p1-2");
  EXPECT_THAT(Step(), ElementsAre("s-p2"));
  EXPECT_EQ(Row(0)["attempt"], 2);
  EXPECT_EQ(Row(0)["job"], "s-p1-2");
}

TEST_F(SweepPlanTest, APointThatEndsItsControllerAgainAndAgainIsGivenUp) {
  Step();
  std::string name = "s-p1";
  for (int i = 2; i <= 4; ++i) {
    End(name, "Interrupted", "ControllerRestarted");
    name = "s-p1-" + std::to_string(i);
    EXPECT_THAT(Step(), ElementsAre(name));
  }
  End(name, "Interrupted", "ControllerRestarted");

  EXPECT_THAT(Step(), ElementsAre("s-p2"));
  EXPECT_EQ(Row(0)["phase"], "Interrupted");
}

TEST_F(SweepPlanTest, AStopIsNobodysFaultAndACancelledPointIsOver) {
  Step();
  std::string name = "s-p1";
  for (int i = 2; i <= 9; ++i) {
    End(name, "Interrupted", "ControllerStopped");
    name = "s-p1-" + std::to_string(i);
    EXPECT_THAT(Step(), ElementsAre(name));
  }
  End(name, "Interrupted", "Cancelled");

  EXPECT_THAT(Step(), ElementsAre("s-p2"));
  EXPECT_EQ(Row(0)["reason"], "Cancelled");
}

TEST_F(SweepPlanTest, ARefusedPointIsAResult) {
  refused_["s-p1"] = "no such GPU";

  EXPECT_THAT(Step(), ElementsAre("s-p2"));
  EXPECT_EQ(Row(0)["phase"], "Refused");
  EXPECT_EQ(Row(0)["message"], "no such GPU");
}

TEST_F(SweepPlanTest, WithoutAnyPredictionTheSweepHasFailed) {
  spec_.concurrency = 3;
  Step();
  for (const char* job : {"s-p1", "s-p2", "s-p3"}) End(job, "Failed", "CommandFailed");
  Step();

  EXPECT_EQ(sweep_["status"]["phase"], "Failed");
  EXPECT_EQ(sweep_["status"]["conditions"].back()["reason"], "NoPrediction");
}

TEST_F(SweepPlanTest, SaysWhatKeepsItFromGoingOn) {
  ObservedSweep observed{.sweep = sweep_,
                         .spec = spec_,
                         .jobs = {},
                         .refused = {},
                         .recording_of = nullptr,
                         .trouble = "the disk is full",
                         .now = "t"};

  const SweepPlan plan = PlanSweep(observed);

  EXPECT_THAT((*plan.status)["conditions"].dump(), HasSubstr("the disk is full"));
}

// Hardware that a recording answers for.
class SweepReplayTest : public SweepPlanTest {
 protected:
  SweepReplayTest() {
    recordings_ = true;
    spec_.matrix = {{"cluster.server.gpu", {"A", "B"}}, {"env.BATCH", {1, 2}}};
    spec_.concurrency = 9;
  }
};

TEST_F(SweepReplayTest, RunsOnceForEachProgramAndReplaysTheRest) {
  EXPECT_THAT(Step(), ElementsAre("s-run1", "s-run2"));
  EXPECT_EQ(jobs_["s-run1"]["spec"]["outputs"]["recording"], true);
  EXPECT_EQ(jobs_["s-run1"]["spec"]["cluster"]["server"]["gpu"], "A");
  End("s-run1");
  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p3"));
  const json& replay = jobs_["s-p3"];
  EXPECT_EQ(replay["spec"]["replay"]["recording"], "/s-run1");
  EXPECT_EQ(replay["spec"]["cluster"]["server"]["gpu"], "B");
  EXPECT_FALSE(replay["spec"].contains("outputs"));
  End("s-p3");
  // A run that is deleted is not missed by points that have their jobs.
  jobs_.erase("s-run1");
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(Row(2)["replayed"], true);
}

TEST_F(SweepReplayTest, APointAloneWithItsProgramIsTheRunItself) {
  spec_.matrix = {{"env.BATCH", {1, 2}}};

  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p2"));
}

TEST_F(SweepReplayTest, ARunWithoutMemoryMayHaveEnoughOnAnotherGpu) {
  Step();
  End("s-run1", "Failed", "OutOfMemory");

  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p3"));
  EXPECT_FALSE(jobs_["s-p3"]["spec"].contains("replay"));
}

TEST_F(SweepReplayTest, ARunThatFailedFailsItsPoints) {
  Step();
  End("s-run1", "Failed", "CommandFailed");

  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(Row(0)["reason"], "CommandFailed");
  EXPECT_EQ(Row(0)["job"], "s-run1");
  EXPECT_EQ(Row(1)["phase"], "Pending");
}

TEST_F(SweepReplayTest, WhatCannotBeRecordedRunsForEachPoint) {
  refused_["s-run1"] = "no recording for jobs with jitter";

  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-run2", "s-p3"));
}

TEST_F(SweepReplayTest, AGivenRecordingIsReplayedAtOnce) {
  spec_.recording = "/a.eidrec";
  spec_.matrix = {{"replay.hostFactor", {0, 1}}};

  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p2"));
  EXPECT_EQ(jobs_["s-p1"]["spec"]["replay"],
            json::parse(R"({"recording": "/a.eidrec", "hostFactor": 0})"));
}

TEST(SweepRefusalTest, SaysWhatIsWrongOnce) {
  json sweep = {{"metadata", {{"name", "s"}}}};

  const auto status = RefuseSweep(sweep, {{"/spec/job", "is required"}}, "t");
  sweep["status"] = *status;

  EXPECT_TRUE(IsSweepOver(sweep));
  EXPECT_THAT(status->dump(), HasSubstr("/spec/job: is required"));
  EXPECT_FALSE(RefuseSweep(sweep, {{"/spec/job", "is required"}}, "later"));
}

TEST_F(SweepPlanTest, BeginsNothingWhileItIsSuspendedAndGoesOnAfterwards) {
  spec_.concurrency = 2;
  EXPECT_THAT(Step(), ElementsAre("s-p1", "s-p2"));
  End("s-p1");
  spec_.suspend = true;
  EXPECT_THAT(Step(), IsEmpty());
  // A job that exists goes on.
  EXPECT_EQ(sweep_["status"]["phase"], "Running");
  EXPECT_THAT(sweep_["status"]["conditions"].dump(), HasSubstr("\"reason\":\"Suspended\""));
  End("s-p2");
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(sweep_["status"]["phase"], "Pending");
  EXPECT_EQ(sweep_["status"]["counts"]["complete"], 2);
  spec_.suspend = false;
  EXPECT_THAT(Step(), ElementsAre("s-p3"));
  EXPECT_EQ(sweep_["status"]["phase"], "Running");
  EXPECT_THAT(sweep_["status"]["conditions"].dump(), ::testing::Not(HasSubstr("Suspended")));
  End("s-p3");
  Step();
  EXPECT_EQ(sweep_["status"]["phase"], "Complete");
}

TEST_F(SweepPlanTest, MayBeSuspendedFromItsBeginning) {
  spec_.suspend = true;

  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(sweep_["status"]["phase"], "Pending");
  EXPECT_FALSE(sweep_["status"].contains("startTime"));
  spec_.suspend = false;
  EXPECT_THAT(Step(), ElementsAre("s-p1"));
  EXPECT_THAT(sweep_["status"]["conditions"].dump(), ::testing::Not(HasSubstr("Suspended")));
}

}  // namespace
}  // namespace eidolon::controller::sweep
