// What other tenants of the cluster can do to a job: nothing, whatever they write into objects of
// their own namespaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/controller/kube_host/controller_fixture_test.h"

namespace eidolon::controller::kube_host {
namespace {

class TenantsTest : public KubeControllerTest {
 protected:
  // A pod and the batch Job that owns it, which claims to be of the job `job_uid`; answers a token
  // of the pod.
  std::string PutImpostor(const kube::ObjectKey& key, const std::string& job_uid) {
    const std::string batch_uid = StrCat("batch-of-", key.name_space, "-", key.name);
    const std::string pod_uid = StrCat("pod-of-", key.name_space, "-", key.name);
    const json labels = {{reconcile::kJobLabel, key.name},
                         {"app.kubernetes.io/managed-by", "eidolon-controller"},
                         {"batch.kubernetes.io/job-completion-index", "0"}};
    cluster_.Put(kube::kJobs, key,
                 {{"metadata",
                   {{"uid", batch_uid},
                    {"labels", labels},
                    {"ownerReferences",
                     {{{"kind", "SimulationJob"}, {"uid", job_uid}, {"controller", true}}}}}}});
    PutPod(key, pod_uid, batch_uid, labels);
    return AddTokenOf(key, pod_uid);
  }

  void PutPod(const kube::ObjectKey& key, const std::string& uid, const std::string& owner_uid,
              const json& labels) {
    cluster_.Put(
        kube::kPods, key,
        {{"metadata",
          {{"uid", uid},
           {"labels", labels},
           {"ownerReferences", {{{"kind", "Job"}, {"uid", owner_uid}, {"controller", true}}}}}},
         {"status", {{"phase", "Running"}, {"podIP", "10.9.0.1"}}}});
  }

  std::string AddTokenOf(const kube::ObjectKey& pod, const std::string& uid) {
    const std::string token = StrCat("token-of-", pod.name_space, "-", pod.name);
    cluster_.AddToken(token, reconcile::kTokenAudience,
                      StrCat("system:serviceaccount:", pod.name_space, ":default"),
                      {{"authentication.kubernetes.io/pod-name", {pod.name}},
                       {"authentication.kubernetes.io/pod-uid", {uid}}});
    return token;
  }
};

TEST_F(TenantsTest, APodOfAnotherNamespaceNeverBecomesAnAgent) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const std::string job_uid = UidOf(*cluster_.Find(kube::kSimulationJobs, kJob));
  const std::string token = PutImpostor({"red", "train"}, job_uid);

  const auto refused = process.controller.agents().Attach(token, std::make_shared<FakeLink>());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  for (const auto& assignment : Attach(&process)) {
    EXPECT_TRUE(assignment) << assignment.error().message;
  }
}

TEST_F(TenantsTest, AnotherBatchJobThatClaimsTheJobHasNoAgents) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const std::string job_uid = UidOf(*cluster_.Find(kube::kSimulationJobs, kJob));
  const std::string token = PutImpostor({"team", "other"}, job_uid);

  const auto refused = process.controller.agents().Attach(token, std::make_shared<FakeLink>());

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("not of the batch Job that runs the job"));
  for (const auto& assignment : Attach(&process)) {
    EXPECT_TRUE(assignment) << assignment.error().message;
  }
}

TEST_F(TenantsTest, PodsElsewhereThatClaimTheBatchJobSayNothingOfIt) {
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());
  ASSERT_TRUE(StartPods());
  const auto assignments = Attach(&process);
  ASSERT_TRUE(assignments[0] && assignments[1]);
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Running") == "Started"; }));
  const std::string batch_uid = UidOf(*cluster_.Find(kube::kJobs, kJob));

  const json labels = {{reconcile::kJobLabel, "train"},
                       {"app.kubernetes.io/managed-by", "eidolon-controller"},
                       {"batch.kubernetes.io/job-completion-index", "1"}};
  PutPod({"red", "train-1"}, "red-pod", batch_uid, labels);
  cluster_.Put(kube::kPods, {"red", "train-1"},
               {{"status",
                 {{"phase", "Failed"},
                  {"reason", "Evicted"},
                  {"message", "gone"},
                  {"conditions",
                   {{{"type", "DisruptionTarget"},
                     {"status", "True"},
                     {"reason", "EvictionByEvictionAPI"}}}}}}});
  std::this_thread::sleep_for(std::chrono::seconds(1));  // Two steps of the run.
  // The program's failure is its own, for no pod of it was taken away.
  for (const auto& assignment : assignments) {
    process.controller.agents().OnOutcome(
        assignment->agent, {.reason = job::OutcomeReason::kCommandFailed, .message = "no"});
    process.controller.agents().Detach(assignment->agent);
  }
  EndPods();

  ASSERT_TRUE(Eventually([&] { return Phase() == "Failed"; })) << Status().dump(1);
  EXPECT_EQ(Status().value("failedAttempts", 0), 0) << Status().dump(1);
  EXPECT_EQ(ReasonOf("Retried"), "");
}

TEST_F(TenantsTest, AServiceThatHasTheNameOfAJobIsLeftAsItIs) {
  cluster_.Put(kube::kServices, kJob, {{"spec", {{"selector", {{"app", "database"}}}}}});
  const json before = *cluster_.Find(kube::kServices, kJob);
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "NameTaken"; })) << Status().dump(1);
  EXPECT_THAT(Status().dump(), HasSubstr("Service 'train' of namespace 'team' exists"));
  EXPECT_FALSE(cluster_.Find(kube::kJobs, kJob));
  EXPECT_EQ(*cluster_.Find(kube::kServices, kJob), before);
  const std::size_t calls = cluster_.CallsBeside("watch=1");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(cluster_.CallsBeside("watch=1") - calls, 50u) << "it is asked again without a pause";

  cluster_.Remove(kube::kServices, kJob);
  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, kJob).has_value(); }));
}

TEST_F(TenantsTest, ABatchJobThatHasTheNameOfAJobIsLeftAsItIs) {
  cluster_.Put(kube::kJobs, kJob, {{"spec", {{"completions", 7}}}});
  const json before = *cluster_.Find(kube::kJobs, kJob);
  Process process(cluster_);
  PutCluster();
  PutJob();
  ASSERT_TRUE(StartNetwork());

  ASSERT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "NameTaken"; })) << Status().dump(1);
  cluster_.Remove(kube::kSimulationJobs, kJob);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Nothing is on its way any more.
  EXPECT_EQ(*cluster_.Find(kube::kJobs, kJob), before);
}

TEST_F(TenantsTest, ADeploymentThatHasTheNameOfANetworkServiceIsLeftAsItIs) {
  const kube::ObjectKey network = {"team", "pod-network"};
  cluster_.Put(kube::kDeployments, network,
               {{"spec", {{"replicas", 3}}}, {"status", {{"availableReplicas", 3}}}});
  const json before = *cluster_.Find(kube::kDeployments, network);
  Process process(cluster_);
  PutCluster();
  PutJob();

  const auto ready = [&] {
    const auto cluster = cluster_.Find(kube::kSimulatedClusters, {"team", "pod"});
    for (const json& entry :
         cluster->value("status", json::object()).value("conditions", json::array())) {
      if (entry["type"] == "Ready") return entry["reason"].get<std::string>();
    }
    return std::string();
  };
  ASSERT_TRUE(Eventually([&] { return ready() == "NameTaken"; }));
  ASSERT_TRUE(Eventually([&] { return ReasonOf("Scheduled") == "NameTaken"; })) << Status().dump(1);
  EXPECT_EQ(*cluster_.Find(kube::kDeployments, network), before);

  cluster_.Remove(kube::kDeployments, network);
  ASSERT_TRUE(StartNetwork());
  EXPECT_TRUE(Eventually([&] { return cluster_.Find(kube::kJobs, kJob).has_value(); }));
}

TEST_F(TenantsTest, AJobOfAnotherNamespaceIsNoPointOfASweep) {
  const kube::ObjectKey key = {"team", "sizes"};
  const Process process(cluster_);
  cluster_.Put(kube::kSimulationSweeps, key,
               {{"spec",
                 {{"job",
                   {{"clusterRef", {{"name", "nowhere"}}},
                    {"image", "train:1"},
                    {"managedBy", "example.dev/test"},
                    {"command", {"torchrun", "train.py"}}}},
                  {"matrix", {{"servers", {1}}}}}}});
  ASSERT_TRUE(Eventually([&] {
    return cluster_.Find(kube::kSimulationJobs, {"team", "sizes-p1"}).has_value();
  }));
  const std::string uid = UidOf(*cluster_.Find(kube::kSimulationSweeps, key));

  cluster_.Put(
      kube::kSimulationJobs, {"zeta", "sizes-p1"},
      {{"metadata",
        {{"labels", {{sweep::kSweepLabel, "sizes"}}},
         {"ownerReferences", {{{"uid", uid}, {"controller", true}}}}}},
       {"spec", {{"managedBy", "example.dev/test"}}},
       {"status",
        {{"phase", "Failed"},
         {"conditions", {{{"type", "Failed"}, {"status", "True"}, {"reason", "OutOfMemory"}}}}}}});
  cluster_.Put(
      kube::kSimulationJobs, {"team", "sizes-p1"},
      {{"status",
        {{"phase", "Complete"},
         {"prediction", {{"iterationSeconds", {{"mean", 2}}}}},
         {"conditions",
          {{{"type", "Complete"}, {"status", "True"}, {"reason", "IterationsMeasured"}}}}}}});

  const auto phase = [&] {
    return cluster_.Find(kube::kSimulationSweeps, key)
        ->value("status", json::object())
        .value("phase", "");
  };
  ASSERT_TRUE(Eventually([&] { return phase() == "Complete" || phase() == "Failed"; }));
  EXPECT_EQ(phase(), "Complete");
}

}  // namespace
}  // namespace eidolon::controller::kube_host
