// The controller against a cluster in memory.
#include "services/controller/kube_host/kube_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <future>
#include <set>
#include <thread>

#include "services/controller/kube_host/controller_fixture_test.h"

namespace eidolon::controller::kube_host {
namespace {

TEST_F(KubeControllerTest, AJobRunsToItsPrediction) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());

  const auto assignments = Attach(&process);

  for (int server = 0; server < 2; ++server) {
    const auto& assignment = assignments[server];
    ASSERT_TRUE(assignment) << assignment.error().message;
    EXPECT_EQ(assignment->agent.server, static_cast<std::uint32_t>(server));
    EXPECT_EQ(assignment->master_address, "10.1.0.1");
    EXPECT_EQ(assignment->network_address, "pod-network.team.svc:7403");
  }
  EXPECT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));
  RunToTheEnd(&process, assignments);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_DOUBLE_EQ(Status()["prediction"]["iterationSeconds"]["mean"], 0.01);
  EXPECT_EQ(Status()["attempt"], 1);
  std::set<std::string> told;
  for (const json& event : cluster_.List(kube::kEvents)) told.insert(event["reason"]);
  EXPECT_TRUE(told.contains("Placed") && told.contains("Started"));
}

TEST_F(KubeControllerTest, AVerdictIsRepeatedUntilTheApiServerTakesIt) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto assignments = Attach(&process);
  ASSERT_TRUE(assignments[0] && assignments[1]);
  const auto metrics = [&] {
    return prometheus::TextSerializer().Serialize(process.registry.Collect());
  };
  cluster_.RefuseStatus("Complete", "etcdserver: mvcc: database space exceeded");

  RunToTheEnd(&process, assignments);

  EXPECT_TRUE(Eventually([&] {
    return metrics().find("eidolon_controller_unsaved_transitions 1") != std::string::npos;
  }));
  EXPECT_THAT(metrics(), HasSubstr("eidolon_controller_store_writable 0"));
  EXPECT_THAT(metrics(), ::testing::Not(HasSubstr("eidolon_controller_finished_jobs_total{")));
  EXPECT_EQ(Phase(), "Running");
  cluster_.RefuseStatus("", "");
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_TRUE(Eventually([&] {
    return metrics().find("eidolon_controller_unsaved_transitions 0") != std::string::npos;
  }));
  EXPECT_THAT(metrics(), HasSubstr("eidolon_controller_store_writable 1"));
}

TEST_F(KubeControllerTest, OnlyTheJobsOwnPodsAreWelcome) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  // A pod of another user, dressed up as ours.
  json stranger = *cluster_.Find(kube::kPods, {"team", "train-0"});
  stranger["metadata"]["uid"] = "stranger-uid";
  stranger["metadata"]["ownerReferences"] = json::array();
  cluster_.Put(kube::kPods, {"team", "stranger"}, stranger);
  cluster_.Put(kube::kPods, {"team", "stranger"}, {{"metadata", {{"uid", "stranger-uid"}}}});
  AddToken("stranger", "stranger", "stranger-uid");
  AddToken("stale", "train-0", "the uid of an earlier pod");
  cluster_.AddToken("elsewhere", "another.audience", "system:serviceaccount:team:default");

  for (const char* token : {"unknown", "elsewhere"}) {
    const auto refused = process.controller.agents().Attach(token, links_[0]);
    ASSERT_FALSE(refused) << token;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << token;
  }
  std::vector<std::future<Result<agents::Assignment>>> calls;
  for (const char* token : {"stranger", "stale"}) {
    calls.push_back(std::async(std::launch::async, [&process, token, this] {
      return process.controller.agents().Attach(token, links_[0]);
    }));
  }
  for (auto& call : calls) {
    const auto refused = call.get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(KubeControllerTest, AnotherControllerBeginsTheJobAgain) {
  PutCluster();
  PutJob();
  {
    Process first(cluster_);
    ASSERT_TRUE(StartNetwork());
    ASSERT_TRUE(StartPods());
    for (const auto& assignment : Attach(&first)) ASSERT_TRUE(assignment);
    ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));
  }
  const std::string uid = UidOf(*cluster_.Find(kube::kJobs, kJob));

  Process second(cluster_);

  ASSERT_TRUE(Eventually([&] {
    const auto placed = cluster_.Find(kube::kJobs, kJob);
    return placed && UidOf(*placed) != uid;
  }));
  EXPECT_TRUE(Eventually([&] { return Status().value("attempt", 0) == 2; }));
}

TEST_F(KubeControllerTest, ADeletedJobLetsItsAgentsGo) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  for (const auto& assignment : Attach(&process)) ASSERT_TRUE(assignment);

  cluster_.Remove(kube::kSimulationJobs, kJob);

  EXPECT_EQ(links_[0]->AwaitStop(), "the job is over");
  EXPECT_EQ(links_[1]->AwaitStop(), "the job is over");
}

TEST_F(KubeControllerTest, AClusterDeletedInMidRunFailsTheJob) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  for (const auto& assignment : Attach(&process)) ASSERT_TRUE(assignment);

  cluster_.Remove(kube::kSimulatedClusters, {"team", "pod"});

  EXPECT_EQ(links_[0]->AwaitStop(), "the job is over");
  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Failed"), "ClusterNotFound");
}

TEST_F(KubeControllerTest, AFailedRunKeepsItsPodsUntilTheyEnd) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto assignments = Attach(&process);
  for (int server = 0; server < 2; ++server) {
    ASSERT_TRUE(assignments[server]);
    // Told and gone before anybody asked it to stop.
    process.controller.agents().OnOutcome(
        assignments[server]->agent,
        {.reason = job::OutcomeReason::kCommandFailed, .message = "no"});
    process.controller.agents().Detach(assignments[server]->agent);
  }
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Stopping"; })) << Status().dump(1);

  EndPods();

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Failed"), "CommandFailed");
  EXPECT_TRUE(cluster_.Find(kube::kJobs, kJob)) << "with it, its pods and their logs are gone";
}

TEST_F(KubeControllerTest, JobsWaitForTheirTurn) {
  Process process(cluster_);
  PutCluster();
  for (const char* name : {"train", "train-b", "train-c"}) PutJob(name);
  ASSERT_TRUE(StartNetwork());

  EXPECT_TRUE(Eventually([&] { return cluster_.List(kube::kJobs).size() == 2; }));
  EXPECT_TRUE(Eventually([&] {
    int queued = 0;
    for (const json& object : cluster_.List(kube::kSimulationJobs)) {
      queued += object.dump().find("\"reason\":\"Queued\"") != std::string::npos;
    }
    return queued == 1;
  }));
  EXPECT_EQ(cluster_.List(kube::kJobs).size(), 2u);
}

// Two run at a time.
TEST_F(KubeControllerTest, JobsThatWaitForTheirClusterKeepNobodyElseWaiting) {
  Process process(cluster_);
  for (const char* name : {"lost-a", "lost-b", "lost-c"}) PutJob(name, "elsewhere");
  ASSERT_TRUE(Eventually([&] {
    int waiting = 0;
    for (const json& object : cluster_.List(kube::kSimulationJobs)) {
      waiting += object.dump().find("\"reason\":\"ClusterNotFound\"") != std::string::npos;
    }
    return waiting == 3;
  }));

  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, kJob); }));

  PutCluster("elsewhere");
  ASSERT_TRUE(StartNetwork("elsewhere"));
  EXPECT_TRUE(Eventually([&] { return cluster_.List(kube::kJobs).size() == 2; }))
      << "one of the three has the other place";
}

// Two run at a time; of those that wait only the next eight are looked at for their place.
TEST_F(KubeControllerTest, ALongQueueOfOneNamespaceKeepsNobodyElseWaiting) {
  Process process(cluster_);
  PutCluster();
  PutCluster("zeta");
  for (int i = 10; i < 22; ++i) PutJob(StrCat("train-", i));
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartNetwork("zeta"));
  ASSERT_TRUE(Eventually([&] { return cluster_.List(kube::kJobs).size() == 2; }));
  PutJob("last", "zeta");
  ASSERT_TRUE(Eventually([&] {
    const auto last = cluster_.Find(kube::kSimulationJobs, {"zeta", "last"});
    return last && last->dump().find("\"reason\":\"Queued\"") != std::string::npos;
  }));

  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Nothing is on its way any more.
  for (const json& running : cluster_.List(kube::kJobs)) {
    cluster_.Remove(kube::kSimulationJobs, {"team", running["metadata"]["name"]});
  }

  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, {"zeta", "last"}); }));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
