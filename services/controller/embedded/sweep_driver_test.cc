// Sweeps in the embedded controller, with agents that speak real gRPC.
#include "services/controller/embedded/sweep_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "services/contract/recording/recording_file.h"
#include "services/controller/embedded/controller_fixture_test.h"

namespace eidolon::controller::embedded {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

class SweepDriverTest : public ControllerTest {
 protected:
  rest::SweepApi& sweeps() { return controller_->api().sweeps(); }

  static json Sweep(json matrix = {{"env.BATCH", {1, 2, 3}}}) {
    return {{"apiVersion", "eidolon.dev/v1alpha1"},
            {"kind", "SimulationSweep"},
            {"metadata", {{"name", "s"}}},
            {"spec", {{"job", Job("x")["spec"]}, {"matrix", std::move(matrix)}}}};
  }
  void CreateSweep(const json& document) {
    const auto created = sweeps().CreateSweep("default", document);
    ASSERT_TRUE(created) << created.error().message;
  }
  // The sweep once `done` holds for it.
  json AwaitSweep(const std::function<bool(const json& status, bool over)>& done) {
    std::int64_t version = 0;
    for (int i = 0; i < 200; ++i) {
      const auto change = sweeps().AwaitSweep({"default", "s"}, version, 1s);
      if (!change) return {{"gone", change.error().message}};
      if (done(change->object["status"], change->over)) return change->object;
      version = change->version;
    }
    return {{"gone", "it takes too long"}};
  }
  json AwaitSweepEnd() {
    return AwaitSweep([](const json&, bool over) { return over; });
  }
  std::vector<std::string> JobNames() {
    std::vector<std::string> names;
    const auto jobs = controller_->api().ListJobs("default");
    for (const json& job : *jobs) {
      names.push_back(job["metadata"]["name"]);
    }
    return names;
  }
};

TEST_F(SweepDriverTest, PredictsEveryPointWithAJobOfItsOwn) {
  CreateSweep(Sweep());

  const json sweep = AwaitSweepEnd();

  const json& status = sweep["status"];
  EXPECT_EQ(status["phase"], "Complete") << sweep.dump(1);
  EXPECT_EQ(status["counts"]["complete"], 3);
  EXPECT_DOUBLE_EQ(status["points"][2]["iterationSeconds"], 0.01);
  EXPECT_DOUBLE_EQ(status["points"][2]["tokensPerSecond"], 100'000);
  EXPECT_EQ(status["points"][2]["job"], "s-p3");
  EXPECT_THAT(JobNames(), ElementsAre("s-p1", "s-p2", "s-p3"));
  EXPECT_EQ(placement_.started(), 6u);
  EXPECT_THAT(MetricsOf(), HasSubstr("phase=\"complete\",simulation_sweep=\"s\"} 3"));
  EXPECT_THAT(MetricsOf(), HasSubstr("phase=\"pending\",simulation_sweep=\"s\"} 0"));
  EXPECT_THAT(MetricsOf(), HasSubstr("finished_sweeps_total{result=\"Complete\"} 1"));
}

TEST_F(SweepDriverTest, NeverHasMoreUnfinishedJobsThanItMay) {
  json document = Sweep({{"env.BATCH", {1, 2, 3, 4, 5}}});
  document["spec"]["concurrency"] = 2;
  CreateSweep(document);
  std::size_t most = 0;

  AwaitSweep([&](const json&, bool over) {
    std::size_t unfinished = 0;
    const auto jobs = controller_->api().ListJobs("default");
    for (const json& job : *jobs) {
      const std::string phase = job["status"]["phase"];
      if (phase == "Pending" || phase == "Running") ++unfinished;
    }
    most = std::max(most, unfinished);
    return over;
  });

  EXPECT_LE(most, 2u);
  EXPECT_EQ(JobNames().size(), 5u);
}

TEST_F(SweepDriverTest, RefusesWhatCannotBeSwept) {
  json document = Sweep({{"env.BATCH", json::array()}});
  document["metadata"]["namespace"] = "other";

  const auto refused = sweeps().CreateSweep("default", document);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("/spec/matrix/env.BATCH"));
  EXPECT_THAT(refused.error().message, HasSubstr("/metadata/namespace"));
  document = Sweep();
  document["spec"]["recording"] = "/nowhere.eidrec";
  document["spec"].erase("job");
  document["spec"]["matrix"] = {{"replay.hostFactor", {1}}};
  EXPECT_THAT(sweeps().CreateSweep("default", document).error().message,
              HasSubstr("/spec/recording"));
  CreateSweep(Sweep());
  EXPECT_EQ(sweeps().CreateSweep("default", Sweep()).error().code, base::ErrorCode::kAlreadyExists);
}

TEST_F(SweepDriverTest, GpusOfARecordingThatDoesNotSayAreAlike) {
  const std::string path = root_ / "old.eidrec";
  std::ofstream file(path, std::ios::binary);
  recording::WriteJob(json({{"job", Job("old")}, {"status", json::object()}}).dump(), &file);
  file.close();
  json document = Sweep({{"replay.hostFactor", {1}}});
  document["spec"].erase("job");
  document["spec"]["recording"] = path;

  const auto created = sweeps().CreateSweep("default", document);

  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ((*created)["spec"]["job"]["variation"], "none");
}

TEST_F(SweepDriverTest, PointsThatDescribeNoJobAndNamesThatAreTakenAreResults) {
  json taken = Job("s-p2");
  taken["spec"]["suspend"] = true;
  Create(taken);
  CreateSweep(Sweep({{"servers", {1, 2, 77}}}));

  const json status = AwaitSweepEnd()["status"];

  EXPECT_EQ(status["counts"]["complete"], 1) << status.dump(1);
  EXPECT_EQ(status["counts"]["failed"], 2);
  EXPECT_THAT(status["points"][1]["message"].dump(), HasSubstr("has the name 's-p2'"));
  EXPECT_THAT(status["points"][2]["message"].dump(), HasSubstr("/spec/servers"));
}

TEST_F(SweepDriverTest, GoesOnWhereAControllerThatEndedHasLeftIt) {
  std::atomic<int> begun = 0;
  placement_.SetScript([&](FakeAgent& agent) {
    // The second point does not end by itself.
    if (++begun <= 2) return IterateAndStop(agent);
    agent.AwaitStop();
    agent.End(v1::OUTCOME_REASON_STOPPED);
    return std::string("exited with status 0");
  });
  CreateSweep(Sweep());
  AwaitSweep([&](const json& status, bool) {
    return status.contains("points") && status["points"][1]["phase"] == "Running";
  });
  ASSERT_TRUE(Close());
  Open();

  const json status = AwaitSweepEnd()["status"];

  EXPECT_EQ(status["counts"]["complete"], 3) << status.dump(1);
  EXPECT_EQ(status["points"][0]["job"], "s-p1");
  EXPECT_EQ(status["points"][1]["job"], "s-p2-2");
  EXPECT_THAT(JobNames(), ElementsAre("s-p1", "s-p2", "s-p2-2", "s-p3"));
}

TEST_F(SweepDriverTest, DeletesItsJobsFirstAlsoAfterARestart) {
  placement_.SetScript([](FakeAgent& agent) {
    agent.AwaitStop();
    agent.End(v1::OUTCOME_REASON_STOPPED);
    return std::string("exited with status 0");
  });
  CreateSweep(Sweep());
  AwaitSweep([&](const json& status, bool) {
    return status.contains("points") && status["points"][0]["phase"] == "Running";
  });

  const auto deleted = sweeps().DeleteSweep({"default", "s"});

  ASSERT_TRUE(deleted);
  const json gone = AwaitSweep([](const json&, bool) { return false; });
  EXPECT_THAT(gone["gone"].dump(), HasSubstr("no simulation sweep 's'"));
  EXPECT_THAT(JobNames(), ::testing::IsEmpty());
  EXPECT_THAT(MetricsOf(), ::testing::Not(HasSubstr("simulation_sweep")));
  ASSERT_TRUE(Close());
  Open();
  EXPECT_TRUE(sweeps().ListSweeps("")->empty());
}

TEST_F(SweepDriverTest, IsSuspendedAndResumedAlsoAcrossARestart) {
  json document = Sweep();
  document["spec"]["suspend"] = true;
  CreateSweep(document);
  AwaitSweep([](const json& status, bool) { return status.contains("points"); });
  EXPECT_THAT(JobNames(), ::testing::IsEmpty());
  EXPECT_THAT(MetricsOf(), HasSubstr("sweep_suspended{namespace=\"default\","
                                     "simulation_sweep=\"s\"} 1"));

  const auto changed = sweeps().PatchSweep(
      {"default", "s"}, {{"spec", {{"concurrency", 2}}}, {"metadata", {{"labels", {{"a", "b"}}}}}});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ((*changed)["metadata"]["labels"]["a"], "b");
  ASSERT_TRUE(Close());
  Open();
  EXPECT_EQ((*sweeps().GetSweep({"default", "s"}))["spec"]["concurrency"], 2);
  EXPECT_THAT(JobNames(), ::testing::IsEmpty());
  ASSERT_TRUE(sweeps().PatchSweep({"default", "s"}, {{"spec", {{"suspend", false}}}}));

  EXPECT_EQ(AwaitSweepEnd()["status"]["counts"]["complete"], 3);
  EXPECT_THAT(MetricsOf(), HasSubstr("simulation_sweep=\"s\"} 0"));
  const auto late = sweeps().PatchSweep({"default", "s"}, {{"spec", {{"suspend", true}}}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, base::ErrorCode::kFailedPrecondition);
  EXPECT_THAT(late.error().message, HasSubstr("the sweep is over"));
  EXPECT_TRUE(sweeps().PatchSweep({"default", "s"}, {{"metadata", {{"labels", {{"a", "c"}}}}}}));
}

TEST_F(SweepDriverTest, ASuspendedSweepLetsJobsGoOnThatExist) {
  std::atomic<bool> suspended = false;
  placement_.SetScript([&](FakeAgent& agent) {
    while (!suspended) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return IterateAndStop(agent);
  });
  CreateSweep(Sweep());
  AwaitSweep([&](const json& status, bool) {
    return status.contains("points") && status["points"][0]["phase"] == "Running";
  });
  ASSERT_TRUE(sweeps().PatchSweep({"default", "s"}, {{"spec", {{"suspend", true}}}}));
  suspended = true;

  const json sweep = AwaitSweep([](const json& status, bool) {
    return status["phase"] == "Pending" && status["counts"]["complete"] == 1;
  });

  EXPECT_EQ(sweep["status"]["counts"]["pending"], 2) << sweep.dump(1);
  EXPECT_THAT(JobNames(), ElementsAre("s-p1"));
}

TEST_F(SweepDriverTest, RefusesOtherChanges) {
  json document = Sweep();
  document["spec"]["suspend"] = true;
  CreateSweep(document);

  const auto refused =
      sweeps().PatchSweep({"default", "s"}, {{"spec", {{"matrix", {{"env.BATCH", {1}}}}}}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kInvalidArgument);
  ASSERT_EQ(refused.error().problems.size(), 1u);
  EXPECT_EQ(refused.error().problems[0].pointer, "/spec/matrix");
  EXPECT_EQ(sweeps().PatchSweep({"default", "t"}, json::object()).error().code,
            base::ErrorCode::kNotFound);
}

TEST_F(SweepDriverTest, TellsOfAllSweepsWhatHasChanged) {
  EXPECT_TRUE(sweeps().AwaitSweeps("", 0, 0, 0s)->present.empty());
  json document = Sweep();
  document["spec"]["suspend"] = true;
  CreateSweep(document);
  auto change = sweeps().AwaitSweeps("", 0, 0, 10s);
  ASSERT_TRUE(change);
  EXPECT_THAT(change->present, ElementsAre("default/s"));
  ASSERT_EQ(change->changed.size(), 1u);
  EXPECT_FALSE(change->changed[0]["spec"].contains("job"));
  EXPECT_TRUE(sweeps().AwaitSweeps("other", 0, 0, 0s)->present.empty());

  ASSERT_TRUE(sweeps().PatchSweep({"default", "s"}, {{"metadata", {{"labels", {{"a", "b"}}}}}}));
  bool seen = false;
  for (int i = 0; i < 20 && !seen; ++i) {
    change = sweeps().AwaitSweeps("default", change->version, 1, 10s);
    for (const json& sweep : change->changed) seen = sweep["metadata"].contains("labels");
  }
  EXPECT_TRUE(seen);
  ASSERT_TRUE(sweeps().DeleteSweep({"default", "s"}));
  change = sweeps().AwaitSweeps("", change->version, 1, 10s);
  EXPECT_TRUE(change->present.empty() ||
              change->changed[0]["metadata"].contains("deletionTimestamp"));
}

}  // namespace
}  // namespace eidolon::controller::embedded
