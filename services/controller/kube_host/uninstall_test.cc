#include "services/controller/kube_host/uninstall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/clock.h"
#include "services/controller/kube_host/fake_cluster_test.h"

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kSystem[] = "eidolon-system";
constexpr char kTeam[] = "team";
const kube::ObjectKey kDeployment = {kSystem, "eidolon-controller"};

json Condition(const char* type, const char* value, const char* reason) {
  return {
      {"type", type},  {"status", value},         {"reason", reason},
      {"message", ""}, {"observedGeneration", 1}, {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
}

class UninstallTest : public ::testing::Test {
 protected:
  UninstallTest() {
    cluster_.IgnoreRoles();
    cluster_.Put(kube::kDeployments, kDeployment, {{"spec", {{"replicas", 2}}}});
  }

  base::Result<Uninstalled> Run(const std::string& name_space = "") {
    kube::Client client({.url = cluster_.url(), .ca_file = {}, .token_file = {}}, clock_);
    return Uninstall({.release_namespace = kSystem,
                      .deployment = kDeployment.name,
                      .controller_pods = "app.kubernetes.io/component=controller",
                      .name_space = name_space,
                      .patience = std::chrono::seconds(0)},
                     &client, clock_);
  }

  // A job, with the uid "NAME-uid".
  void PutJob(const std::string& name, const char* phase, json conditions,
              const std::string& name_space = kTeam) {
    cluster_.Put(kube::kSimulationJobs, {name_space, name},
                 {{"metadata", {{"uid", name + "-uid"}}},
                  {"status",
                   {{"phase", phase},
                    {"attempt", 1},
                    {"progress", {{"iterations", 3}}},
                    {"conditions", std::move(conditions)}}}});
  }

  void PutRunningJob(const std::string& name, const std::string& name_space = kTeam) {
    PutJob(name, "Running",
           {Condition("Scheduled", "True", "Placed"), Condition("Running", "True", "Started")},
           name_space);
  }

  // An object with our labels; `owner` empty: that nothing owns.
  void PutChild(const kube::Resource& resource, const std::string& name, const char* component,
                const std::string& owner) {
    json metadata = {{"labels",
                      {{"app.kubernetes.io/managed-by", "eidolon-controller"},
                       {"app.kubernetes.io/component", component}}}};
    if (!owner.empty()) {
      metadata["ownerReferences"] = {{{"apiVersion", "eidolon.dev/v1alpha1"},
                                      {"kind", "SimulationJob"},
                                      {"name", owner},
                                      {"uid", owner + "-uid"},
                                      {"controller", true}}};
    }
    cluster_.Put(resource, {kTeam, name}, {{"metadata", metadata}});
  }

  bool IsThere(const kube::Resource& resource, const char* name) {
    return cluster_.Find(resource, {kTeam, name}).has_value();
  }

  const base::SystemClock clock_;
  FakeCluster cluster_;
};

TEST_F(UninstallTest, StopsTheControllersFirst) {
  const auto done = Run();

  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*cluster_.Find(kube::kDeployments, kDeployment))["spec"]["replicas"], 0);
}

TEST_F(UninstallTest, TouchesNothingWhileAControllerRuns) {
  cluster_.Put(kube::kPods, {kSystem, "eidolon-controller-1"},
               {{"metadata", {{"labels", {{"app.kubernetes.io/component", "controller"}}}}}});
  PutRunningJob("train");
  PutChild(kube::kJobs, "train", "agent", "train");

  const auto done = Run();

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("pod 'eidolon-controller-1'"));
  EXPECT_THAT(done.error().message, HasSubstr("--no-hooks"));
  EXPECT_TRUE(IsThere(kube::kJobs, "train"));
}

TEST_F(UninstallTest, ARunningJobWaitsForTheNextInstallation) {
  PutRunningJob("train");
  PutChild(kube::kJobs, "train", "agent", "train");
  PutChild(kube::kServices, "train", "agent", "train");

  const auto done = Run();

  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->jobs, 1u);
  EXPECT_EQ(done->objects, 2u);
  const json status = (*cluster_.Find(kube::kSimulationJobs, {kTeam, "train"}))["status"];
  EXPECT_EQ(status["phase"], "Pending");
  for (const json& condition : status["conditions"]) {
    EXPECT_EQ(condition["status"], "False") << condition;
    EXPECT_EQ(condition["reason"], "ControllerStopped");
    EXPECT_THAT(condition["message"].get<std::string>(), HasSubstr("begins the job again"));
  }
  EXPECT_FALSE(IsThere(kube::kJobs, "train"));
  EXPECT_FALSE(IsThere(kube::kServices, "train"));
}

TEST_F(UninstallTest, NetworkServicesGoWithAllTheirObjects) {
  for (const auto& resource : {kube::kDeployments, kube::kServices, kube::kNetworkPolicies}) {
    PutChild(resource, "h100-network", "network", "h100");
  }

  const auto done = Run();

  ASSERT_TRUE(done) << done.error().message;
  for (const auto& resource : {kube::kDeployments, kube::kServices, kube::kNetworkPolicies}) {
    EXPECT_FALSE(IsThere(resource, "h100-network")) << resource.kind;
  }
}

TEST_F(UninstallTest, WhatAFinishedJobLeavesIsKept) {
  PutJob("done", "Complete", {Condition("Complete", "True", "IterationsMeasured")});
  PutChild(kube::kJobs, "done", "agent", "done");
  PutChild(kube::kServices, "done", "agent", "done");
  PutChild(kube::kDeployments, "done-job-network", "network", "done");

  const auto done = Run();

  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->jobs, 0u);
  EXPECT_TRUE(IsThere(kube::kJobs, "done"));
  EXPECT_TRUE(IsThere(kube::kServices, "done"));
  EXPECT_FALSE(IsThere(kube::kDeployments, "done-job-network"));
  EXPECT_EQ((*cluster_.Find(kube::kSimulationJobs, {kTeam, "done"}))["status"]["phase"],
            "Complete");
}

TEST_F(UninstallTest, WhatOnlyHasOurLabelsIsKept) {
  PutChild(kube::kDeployments, "of-bob", "network", "");
  PutChild(kube::kJobs, "of-bob", "agent", "");

  const auto done = Run();

  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(IsThere(kube::kDeployments, "of-bob"));
  EXPECT_TRUE(IsThere(kube::kJobs, "of-bob"));
}

TEST_F(UninstallTest, LeavesNamespacesThatTheReleaseDoesNotWatch) {
  PutRunningJob("train", "other");

  const auto done = Run(kTeam);

  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*cluster_.Find(kube::kSimulationJobs, {"other", "train"}))["status"]["phase"],
            "Running");
}

TEST_F(UninstallTest, TwiceIsAsGoodAsOnce) {
  PutRunningJob("train");
  PutChild(kube::kJobs, "train", "agent", "train");

  const auto once = Run();
  const auto twice = Run();

  ASSERT_TRUE(once && twice);
  EXPECT_EQ(twice->jobs, 0u);
  EXPECT_EQ(twice->objects, 0u);
}

}  // namespace
}  // namespace eidolon::controller::kube_host
