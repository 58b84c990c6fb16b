// Sweeps on Kubernetes: the test plays the part that takes SimulationJobs through.
#include "services/controller/kube_host/sweep_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <optional>

#include "services/controller/kube_host/controller_process_test.h"

namespace eidolon::controller::kube_host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SweepReconcilerTest : public ::testing::Test {
 protected:
  void PutSweep(json change = json::object()) {
    json sweep = {{"spec",
                   {{"job",
                     {{"clusterRef", {{"name", "nowhere"}}},
                      {"image", "train:1"},
                      // Only the test decides what becomes of it.
                      {"managedBy", "example.dev/test"},
                      {"command", {"torchrun", "train.py"}}}},
                    {"matrix", {{"servers", {1, 2, 4}}}}}}};
    sweep.merge_patch(change);
    cluster_.Put(kube::kSimulationSweeps, kSweep, sweep);
  }
  void End(const std::string& job, const std::string& phase, const std::string& reason) {
    json status = {{"phase", phase},
                   {"conditions", {{{"type", phase}, {"status", "True"}, {"reason", reason}}}}};
    if (phase == "Complete") status["prediction"] = {{"iterationSeconds", {{"mean", 2}}}};
    cluster_.Put(kube::kSimulationJobs, {"team", job}, {{"status", status}});
  }
  json Status() {
    const auto sweep = cluster_.Find(kube::kSimulationSweeps, kSweep);
    return sweep ? sweep->value("status", json::object()) : json::object();
  }
  bool AwaitPhase(const std::string& phase) {
    return Eventually([&] { return Status().value("phase", "") == phase; });
  }
  bool AwaitJob(const std::string& name) {
    return Eventually([&] { return cluster_.Find(kube::kSimulationJobs, {"team", name}); });
  }
  std::vector<std::string> JobNames() {
    std::vector<std::string> names;
    for (const json& job : cluster_.List(kube::kSimulationJobs)) {
      names.push_back(job["metadata"]["name"]);
    }
    return names;
  }

  const kube::ObjectKey kSweep = {"team", "sizes"};
  FakeCluster cluster_;
};

TEST_F(SweepReconcilerTest, HasOneJobAfterTheOtherAndOwnsThem) {
  const Process process(cluster_);
  PutSweep();
  ASSERT_TRUE(AwaitJob("sizes-p1"));
  ASSERT_TRUE(AwaitPhase("Running"));
  const json job = *cluster_.Find(kube::kSimulationJobs, {"team", "sizes-p1"});
  EXPECT_EQ(job["metadata"]["ownerReferences"][0]["kind"], "SimulationSweep");
  EXPECT_EQ(job["metadata"]["ownerReferences"][0]["uid"],
            (*cluster_.Find(kube::kSimulationSweeps, kSweep))["metadata"]["uid"]);
  EXPECT_EQ(job["spec"]["servers"], 1);
  EXPECT_THAT(JobNames(), ElementsAre("sizes-p1"));

  End("sizes-p1", "Complete", "IterationsMeasured");
  ASSERT_TRUE(AwaitJob("sizes-p2"));
  End("sizes-p2", "Failed", "OutOfMemory");
  ASSERT_TRUE(AwaitJob("sizes-p3"));
  End("sizes-p3", "Complete", "IterationsMeasured");
  ASSERT_TRUE(AwaitPhase("Complete")) << Status().dump(1);

  EXPECT_EQ(Status()["counts"]["complete"], 2);
  EXPECT_EQ(Status()["points"][1]["reason"], "OutOfMemory");
  const auto page = [&] {
    return prometheus::TextSerializer().Serialize(process.registry.Collect());
  };
  EXPECT_TRUE(Eventually([&] {
    return page().find("eidolon_controller_finished_sweeps_total{result=\"Complete\"} 1") !=
           std::string::npos;
  })) << page();
  EXPECT_THAT(page(),
              HasSubstr("{namespace=\"team\",phase=\"failed\",simulation_sweep=\"sizes\"} 1"));
  cluster_.Remove(kube::kSimulationSweeps, kSweep);
  EXPECT_TRUE(Eventually([&] { return page().find("simulation_sweep=") == std::string::npos; }));
  EXPECT_TRUE(Eventually([&] {
    for (const json& event : cluster_.List(kube::kEvents)) {
      if (event["reason"] == "PointsPredicted") return true;
    }
    return false;
  }));
}

TEST_F(SweepReconcilerTest, TheNextControllerGoesOnAndMakesNothingTwice) {
  std::optional<Process> first(std::in_place, cluster_);
  PutSweep({{"spec", {{"concurrency", 2}}}});
  ASSERT_TRUE(AwaitJob("sizes-p2"));
  first.reset();
  End("sizes-p1", "Complete", "IterationsMeasured");
  const std::string uid = UidOf(*cluster_.Find(kube::kSimulationJobs, {"team", "sizes-p1"}));

  const Process second(cluster_);
  ASSERT_TRUE(AwaitJob("sizes-p3"));
  End("sizes-p2", "Complete", "IterationsMeasured");
  End("sizes-p3", "Complete", "IterationsMeasured");

  ASSERT_TRUE(AwaitPhase("Complete")) << Status().dump(1);
  EXPECT_THAT(JobNames(), ElementsAre("sizes-p1", "sizes-p2", "sizes-p3"));
  EXPECT_EQ(UidOf(*cluster_.Find(kube::kSimulationJobs, {"team", "sizes-p1"})), uid);
}

TEST_F(SweepReconcilerTest, SaysWhatIsWrongWithASweep) {
  const Process process(cluster_);
  PutSweep({{"spec", {{"matrix", {{"servers", {0}}}}}}});

  ASSERT_TRUE(AwaitPhase("Failed"));
  EXPECT_THAT(Status()["conditions"].dump(), HasSubstr("/spec/matrix/servers"));
  EXPECT_THAT(JobNames(), IsEmpty());
}

TEST_F(SweepReconcilerTest, ASweepThatIsChangedOnItsWayIsRefused) {
  const Process process(cluster_);
  PutSweep();
  ASSERT_TRUE(AwaitPhase("Running"));

  PutSweep({{"metadata", {{"generation", 2}}}, {"spec", {{"matrix", {{"servers", {8, 9}}}}}}});

  ASSERT_TRUE(AwaitPhase("Failed"));
  EXPECT_THAT(Status()["conditions"].dump(),
              HasSubstr("in more than suspend and concurrency after the sweep had begun"));
}

TEST_F(SweepReconcilerTest, AJobOfSomebodyElseIsLeftAlone) {
  cluster_.Put(kube::kSimulationJobs, {"team", "sizes-p1"}, {{"spec", {{"suspend", true}}}});
  const Process process(cluster_);
  PutSweep({{"spec", {{"matrix", {{"servers", {1}}}}}}});

  ASSERT_TRUE(AwaitPhase("Failed"));
  EXPECT_EQ(Status()["points"][0]["phase"], "Refused");
  EXPECT_THAT(Status()["points"][0]["message"].dump(), HasSubstr("another simulation job"));
}

TEST_F(SweepReconcilerTest, IsSuspendedAndResumedOnItsWay) {
  const Process process(cluster_);
  PutSweep();
  ASSERT_TRUE(AwaitJob("sizes-p1"));
  ASSERT_TRUE(AwaitPhase("Running"));
  PutSweep({{"metadata", {{"generation", 2}}}, {"spec", {{"suspend", true}}}});
  ASSERT_TRUE(Eventually([&] { return Status().value("observedGeneration", 0) == 2; }));
  EXPECT_EQ(Status()["phase"], "Running");
  End("sizes-p1", "Complete", "IterationsMeasured");
  ASSERT_TRUE(AwaitPhase("Pending")) << Status().dump(1);
  EXPECT_THAT(JobNames(), ElementsAre("sizes-p1"));

  PutSweep({{"metadata", {{"generation", 3}}}, {"spec", {{"suspend", false}, {"concurrency", 2}}}});

  ASSERT_TRUE(AwaitJob("sizes-p3"));
  End("sizes-p2", "Complete", "IterationsMeasured");
  End("sizes-p3", "Complete", "IterationsMeasured");
  ASSERT_TRUE(AwaitPhase("Complete")) << Status().dump(1);
  EXPECT_EQ(Status()["observedGeneration"], 3);
}

}  // namespace
}  // namespace eidolon::controller::kube_host
