// Tests jobs whose pods are taken away, or not admitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "services/controller/kube_host/controller_fixture_test.h"

namespace eidolon::controller::kube_host {
namespace {

using AttemptsTest = KubeControllerTest;

TEST_F(AttemptsTest, AdmissionThatRefusesPodsFailsTheJob) {
  cluster_.RefusePods("pods \"train\" is forbidden: violates PodSecurity \"restricted:latest\"");
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; }));

  EXPECT_EQ(ReasonOf("Failed"), "PodSecurityViolation");
  EXPECT_FALSE(cluster_.Find(kube::kJobs, kJob));
}

TEST_F(AttemptsTest, AnEvictedPodBeginsTheJobAgain) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto first = Attach(&process);
  ASSERT_TRUE(first[0] && first[1]);
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));

  // A drain does the same: first the condition and the deletion, then SIGTERM.
  cluster_.Put(kube::kPods, {"team", "train-1"},
               {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}},
                {"status",
                 {{"conditions",
                   {{{"type", "DisruptionTarget"},
                     {"status", "True"},
                     {"reason", "EvictionByEvictionAPI"}}}}}}});
  process.controller.agents().OnOutcome(
      first[1]->agent, {.reason = job::OutcomeReason::kStopped, .message = "signal 15"});
  process.controller.agents().Detach(first[1]->agent);
  links_[0]->AwaitStop();
  process.controller.agents().OnOutcome(
      first[0]->agent, {.reason = job::OutcomeReason::kPeerLost, .message = "lost with server 1"});
  process.controller.agents().Detach(first[0]->agent);
  EndPods();

  ASSERT_TRUE(Eventually([&] { return Status().value("attempt", 0) == 2; })) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Retried"), "PodEvicted");
  EXPECT_EQ(Status()["failedAttempts"], 1);
  for (const char* pod : {"train-0", "train-1"}) cluster_.Remove(kube::kPods, {"team", pod});
  for (auto& link : links_) link = std::make_shared<FakeLink>();
  ASSERT_TRUE(StartPods());
  const auto second = Attach(&process);
  ASSERT_TRUE(second[0] && second[1]);
  RunToTheEnd(&process, second);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_EQ(Status()["failedAttempts"], 1);
  EXPECT_EQ(ReasonOf("Retried"), "PodEvicted") << "what happened can still be read";
}

// Eight ranks on four servers, of which the first and the last have live ranks.
TEST_F(AttemptsTest, ClassesThatARunHasFoundBeginAFoldedJobAgain) {
  Process process(cluster_);
  PutCluster();
  cluster_.Put(kube::kSimulationJobs, kJob,
               {{"spec",
                 {{"clusterRef", {{"name", "pod"}}},
                  {"ranksPerServer", 2},
                  {"image", "train:1"},
                  {"command", {"torchrun", "train.py"}},
                  {"folding", {{"mode", "required"}}},
                  {"backoffLimit", 0},
                  {"iterations", {{"warmup", 1}, {"measure", 2}}}}}});
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  EXPECT_EQ((*cluster_.Find(kube::kJobs, kJob))["spec"]["completions"], 2);
  const auto first = Attach(&process);
  ASSERT_TRUE(first[0] && first[1]) << first[1].error().message;
  EXPECT_EQ(first[1]->agent.server, 3u);
  EXPECT_THAT(first[1]->resolved.spec.environment,
              ::testing::Contains(::testing::Pair("JOB_COMPLETION_INDEX", "3")));
  EXPECT_THAT(RanksOf(*first[1]), ::testing::ElementsAre(7u));
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));

  for (const auto& assignment : first) {
    process.controller.agents().OnOutcome(assignment->agent,
                                          {.reason = job::OutcomeReason::kRanksDiffer,
                                           .message = "odd ranks send",
                                           .ranks_differ_by = {{.stride = 1, .size = 2}}});
    process.controller.agents().Detach(assignment->agent);
  }
  EndPods();

  ASSERT_TRUE(Eventually([&] { return Status().value("attempt", 0) == 2; })) << Status().dump(1);
  for (const char* pod : {"train-0", "train-1"}) cluster_.Remove(kube::kPods, {"team", pod});
  for (auto& link : links_) link = std::make_shared<FakeLink>();
  ASSERT_TRUE(StartPods());
  const auto second = Attach(&process);
  ASSERT_TRUE(second[0] && second[1]) << second[1].error().message;
  EXPECT_THAT(RanksOf(*second[0]), ::testing::ElementsAre(0u, 1u));
  EXPECT_THAT(RanksOf(*second[1]), ::testing::ElementsAre(6u, 7u));
  RunToTheEnd(&process, second);
  ASSERT_TRUE(Eventually([&] { return Phase() == "Complete"; })) << Status().dump(1);
  EXPECT_FALSE(Status().contains("failedAttempts")) << "nothing has failed";
  EXPECT_EQ(Status()["prediction"]["folding"]["live"], json({0, 1, 6, 7}));
  EXPECT_EQ(Status()["foldDimensions"], json({{{"stride", 1}, {"size", 2}}}));
  std::set<std::string> told;
  for (const json& event : cluster_.List(kube::kEvents)) told.insert(event["reason"]);
  EXPECT_TRUE(told.contains("ClassesFound"));
}

TEST_F(AttemptsTest, AFullQuotaIsToldAndWaitedFor) {
  const std::string words = "pods \"train\" is forbidden: exceeded quota: compute";
  cluster_.RefusePods(words);
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "QuotaExceeded"; }));
  EXPECT_THAT(Status().dump(), HasSubstr("exceeded quota: compute"));
  EXPECT_EQ(Phase(), "Pending");
  cluster_.RefusePods("");

  EXPECT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "Placed"; }));
  EXPECT_TRUE(cluster_.Find(kube::kJobs, kJob));
}

TEST_F(AttemptsTest, APolicyAgainstJobsIsQuoted) {
  cluster_.RefuseApply("Job",
                       "admission webhook \"validate.kyverno.svc-fail\" denied the request: no");
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);

  EXPECT_EQ(ReasonOf("Failed"), "PodRefused");
  EXPECT_THAT(Status().dump(), HasSubstr("denied the request: no"));
}

// The trial passes, as with webhooks that cannot be tried: the job controller meets the refusal.
TEST_F(AttemptsTest, PodsThatTheJobControllerMayNotMakeAreToldWithinSeconds) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, kJob); }));
  const auto event = [&](const char* name, const std::string& uid, const char* reason,
                         const char* time, const char* message) {
    cluster_.Put(kube::kCoreEvents, {"team", name},
                 {{"involvedObject", {{"uid", uid}}},
                  {"reason", reason},
                  {"lastTimestamp", time},
                  {"message", message}});
  };
  const std::string uid = UidOf(*cluster_.Find(kube::kJobs, kJob));
  event("a", uid, "FailedCreate", "2026-01-01T00:00:00Z", "Error creating: old");
  event("b", uid, "FailedCreate", "2026-01-01T00:00:05Z",
        "Error creating: admission webhook \"validation.gatekeeper.sh\" denied the request: "
        "[must-have-owner] you must provide labels");
  event("c", uid, "SuccessfulCreate", "2026-01-01T00:00:09Z", "Created pod: train-0");
  event("d", "another", "FailedCreate", "2026-01-01T00:00:09Z", "Error creating: another job's");

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);

  EXPECT_EQ(ReasonOf("Failed"), "PodRefused");
  EXPECT_THAT(Status().dump(), HasSubstr("[must-have-owner] you must provide labels"));
}

TEST_F(AttemptsTest, AClusterWhoseNetworkServiceIsRefusedSaysWhy) {
  cluster_.RefuseApply("Deployment", "deployments is forbidden: exceeded quota: objects");
  Process process(cluster_);
  PutCluster();

  ASSERT_TRUE(Eventually([&] {
    return cluster_.Find(kube::kSimulatedClusters, {"team", "pod"})
               ->dump()
               .find("exceeded quota: objects") != std::string::npos;
  }));
  PutJob();
  EXPECT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "QuotaExceeded"; }))
      << Status().dump(1);
  EXPECT_THAT(Status().dump(), HasSubstr("exceeded quota: objects"));
  cluster_.RefuseApply("", "");
  EXPECT_TRUE(StartNetwork());
  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, kJob); }));
}

TEST_F(AttemptsTest, AJobWhoseOwnNetworkServiceIsRefusedSaysWhy) {
  cluster_.RefuseApply("Service", "services is forbidden: User \"eidolon\" cannot patch resource");
  Process process(cluster_);
  cluster_.Put(kube::kSimulationJobs, kJob,
               {{"spec",
                 {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}},
                  {"image", "train:1"},
                  {"command", {"torchrun", "train.py"}}}}});

  ASSERT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "AdmissionUnavailable"; }))
      << Status().dump(1);

  EXPECT_THAT(Status().dump(), HasSubstr("cannot patch resource"));
  EXPECT_TRUE(Status().contains("nextAttemptTime")) << "others have its place meanwhile";
}

}  // namespace
}  // namespace eidolon::controller::kube_host
