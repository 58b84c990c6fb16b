// REST on Kubernetes writes in the name of its users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/controller/kube_host/kube_api_fixture_test.h"

namespace eidolon::controller::kube_host {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kClusters[] = "/api/v1/namespaces/team/simulatedclusters";
constexpr char kSweeps[] = "/api/v1/namespaces/team/simulationsweeps";

class KubeApiUserTest : public KubeApiTest {
 protected:
  KubeApiUserTest() {
    for (const char* verb : {"get", "list", "watch", "create", "patch", "delete"}) {
      cluster_.Allow(std::string("ann ") + verb + " simulationsweeps team");
    }
  }
  static json Job(const json& spec = json::object()) {
    json job = json::parse(kBody);
    job["spec"].merge_patch(spec);
    return job;
  }
  static json Sweep() {
    return {{"apiVersion", "eidolon.dev/v1alpha1"},
            {"kind", "SimulationSweep"},
            {"metadata", {{"name", "s"}}},
            {"spec", {{"job", Job()["spec"]}, {"matrix", {{"servers", {1, 2}}}}}}};
  }
  static json Cluster() {
    return {{"apiVersion", "eidolon.dev/v1alpha1"},
            {"kind", "SimulatedCluster"},
            {"metadata", {{"name", "c"}}},
            {"spec", {{"servers", 1}, {"server", {{"preset", "dgx-h100"}}}}}};
  }
  httplib::Result PostTo(const char* path, const json& document) {
    return http_.Post(path, document.dump(), "application/json");
  }
  httplib::Result Patch(const std::string& path, const json& patch) {
    return http_.Patch(path.c_str(), patch.dump(), "application/merge-patch+json");
  }
  json Annotations(const kube::Resource& resource, const std::string& name) {
    const auto object = cluster_.Find(resource, {"team", name});
    return object ? (*object)["metadata"].value("annotations", json::object()) : json();
  }
};

TEST_F(KubeApiUserTest, EveryWriteIsTheUsersOwnInTheAuditLog) {
  ASSERT_EQ(Post(kBody)->status, 201);
  ASSERT_EQ(PostTo(kClusters, Cluster())->status, 201);
  ASSERT_EQ(PostTo(kSweeps, Sweep())->status, 201);
  ASSERT_EQ(Patch(std::string(kJobs) + "/a", {{"spec", {{"suspend", true}}}})->status, 200);
  ASSERT_EQ(Patch(std::string(kSweeps) + "/s", {{"spec", {{"suspend", true}}}})->status, 200);
  ASSERT_LE(http_.Delete((std::string(kJobs) + "/a").c_str())->status, 202);
  ASSERT_EQ(http_.Delete((std::string(kClusters) + "/c").c_str())->status, 200);
  ASSERT_LE(http_.Delete((std::string(kSweeps) + "/s").c_str())->status, 202);

  const std::vector<std::string> audit = cluster_.Audit();
  EXPECT_EQ(audit.size(), 8u);
  EXPECT_THAT(audit, Each(StartsWith("ann ")));
  EXPECT_THAT(audit, Contains("ann delete simulationsweeps team"));
}

TEST_F(KubeApiUserTest, WhatAPolicyRefusesTheUserIsRefusedByRest) {
  ASSERT_EQ(Post(kBody)->status, 201);
  ASSERT_EQ(PostTo(kClusters, Cluster())->status, 201);
  ASSERT_EQ(PostTo(kSweeps, Sweep())->status, 201);
  const json job = *cluster_.Find(kube::kSimulationJobs, {"team", "a"});
  cluster_.DenyWrites("ann", "ValidatingAdmissionPolicy 'office-hours' denied request: not now");
  json other = Job(), other_sweep = Sweep(), other_cluster = Cluster();
  other["metadata"]["name"] = "b";
  other_sweep["metadata"]["name"] = "t";
  other_cluster["metadata"]["name"] = "d";

  const auto refused = PostTo(kJobs, other);
  EXPECT_EQ(refused->status, 403) << refused->body;
  EXPECT_EQ(refused->get_header_value("Content-Type"), "application/problem+json");
  EXPECT_THAT(refused->body, HasSubstr("office-hours"));
  const auto keyed =
      http_.Post(kJobs, {{"Idempotency-Key", "k"}}, other.dump(), "application/json");
  EXPECT_EQ(keyed->status, 403) << keyed->body;
  EXPECT_EQ(PostTo(kClusters, other_cluster)->status, 403);
  EXPECT_EQ(PostTo(kSweeps, other_sweep)->status, 403);
  EXPECT_EQ(Patch(std::string(kJobs) + "/a", {{"spec", {{"suspend", true}}}})->status, 403);
  EXPECT_EQ(Patch(std::string(kSweeps) + "/s", {{"spec", {{"suspend", true}}}})->status, 403);
  EXPECT_EQ(http_.Delete((std::string(kJobs) + "/a").c_str())->status, 403);
  EXPECT_EQ(http_.Delete((std::string(kClusters) + "/c").c_str())->status, 403);
  EXPECT_EQ(http_.Delete((std::string(kSweeps) + "/s").c_str())->status, 403);

  EXPECT_EQ(*cluster_.Find(kube::kSimulationJobs, {"team", "a"}), job);
  EXPECT_EQ(cluster_.List(kube::kSimulationJobs).size(), 1u);
  EXPECT_EQ(cluster_.List(kube::kSimulationSweeps).size(), 1u);
  EXPECT_EQ(cluster_.List(kube::kSimulatedClusters).size(), 1u);
}

TEST_F(KubeApiUserTest, ObjectsSayWhoCreatedThemWhateverTheDocumentSays) {
  const json forged = {{"eidolon.dev/created-by", "root"}, {"a", "b"}};
  json job = Job(), cluster = Cluster(), sweep = Sweep();
  for (json* document : {&job, &cluster, &sweep}) (*document)["metadata"]["annotations"] = forged;

  ASSERT_EQ(PostTo(kJobs, job)->status, 201);
  ASSERT_EQ(PostTo(kClusters, cluster)->status, 201);
  ASSERT_EQ(PostTo(kSweeps, sweep)->status, 201);

  const json own = {{"eidolon.dev/created-by", "ann"}, {"a", "b"}};
  EXPECT_EQ(Annotations(kube::kSimulationJobs, "a"), own);
  EXPECT_EQ(Annotations(kube::kSimulatedClusters, "c"), own);
  EXPECT_EQ(Annotations(kube::kSimulationSweeps, "s"), own);
}

TEST_F(KubeApiUserTest, APatchDoesNotChangeWhoCreatedASweep) {
  ASSERT_EQ(PostTo(kSweeps, Sweep())->status, 201);
  const std::string path = std::string(kSweeps) + "/s";
  const auto patch = [&](const json& annotations) {
    return Patch(path, {{"metadata", {{"annotations", annotations}}}})->status;
  };

  EXPECT_EQ(patch({{"eidolon.dev/created-by", "root"}}), 422);
  EXPECT_EQ(patch({{"eidolon.dev/created-by", nullptr}}), 422);
  EXPECT_EQ(patch({{"a", "b"}, {"eidolon.dev/created-by", "ann"}}), 200);
  EXPECT_EQ(Annotations(kube::kSimulationSweeps, "s").size(), 2u);
  EXPECT_EQ(patch(nullptr), 200);
  EXPECT_EQ(Annotations(kube::kSimulationSweeps, "s"), json({{"eidolon.dev/created-by", "ann"}}));
}

TEST_F(KubeApiUserTest, AUserWhomTheControllerMayNotActForIsToldWhoCanHelp) {
  cluster_.AllowImpersonation("system:serviceaccount:team:default");

  const auto refused = Post(kBody);

  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->body, HasSubstr("controller.impersonate of the chart"));
  EXPECT_THAT(cluster_.List(kube::kSimulationJobs), IsEmpty());
}

TEST_F(KubeApiUserTest, FieldsThatReachBeyondTheJobAreForWhoMayCreatePods) {
  const std::vector<std::pair<json, std::string>> rows = {
      {{{"podTemplate", {{"serviceAccountName", "admin"}}}}, "/spec/podTemplate"},
      {{{"env",
         {{{"name", "A"}, {"value", "1"}},
          {{"name", "B"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k"}}}}}}}}},
       "/spec/env/1/valueFrom"},
      {{{"envFrom", {{{"secretRef", {{"name", "s"}}}}}}}, "/spec/envFrom"},
      {{{"code", {{"persistentVolumeClaim", {{"claimName", "c"}}}}}},
       "/spec/code/persistentVolumeClaim"}};
  for (const auto& [spec, pointer] : rows) {
    const auto refused = PostTo(kJobs, Job(spec));
    ASSERT_EQ(refused->status, 403) << pointer << refused->body;
    const json problem = json::parse(refused->body);
    EXPECT_EQ(problem["type"], "https://eidolon.dev/problems/forbidden-fields");
    EXPECT_EQ(problem["errors"][0]["pointer"], pointer);
    EXPECT_THAT(problem["detail"].get<std::string>(),
                HasSubstr("ask for the permission to create pods there"));
    json sweep = Sweep();
    sweep["spec"]["job"].merge_patch(spec);
    EXPECT_EQ(PostTo(kSweeps, sweep)->status, 403) << pointer;
  }
  EXPECT_THAT(cluster_.Audit(), IsEmpty());

  EXPECT_EQ(PostTo(kJobs, Job({{"env", {{{"name", "A"}, {"value", "1"}}}}}))->status, 201);
}

TEST_F(KubeApiUserTest, TheMatrixOfASweepSetsNoForbiddenFieldEither) {
  const std::vector<std::pair<std::string, json>> rows = {
      {"podTemplate", {json::object(), {{"serviceAccountName", "admin"}}}},
      {"podTemplate.serviceAccountName", {"admin"}},
      {"envFrom", {json::array({{{"secretRef", {{"name", "s"}}}}})}},
      {"env",
       {json::array(
           {{{"name", "B"}, {"valueFrom", {{"secretKeyRef", {{"name", "s"}, {"key", "k"}}}}}}})}},
      {"code.persistentVolumeClaim.claimName", {"c"}},
      {"code", {{{"persistentVolumeClaim", {{"claimName", "c"}}}}}}};
  for (const auto& [path, values] : rows) {
    json sweep = Sweep();
    sweep["spec"]["matrix"] = {{path, values}};
    EXPECT_THAT(FindPodFieldsOfSweep(sweep), ::testing::ElementsAre("/spec/matrix/" + path));
  }
  json harmless = Sweep();
  harmless["spec"]["matrix"] = {{"env.BATCH", {1, 2}}, {"code.configMapRef.name", {"a"}}};
  EXPECT_THAT(FindPodFieldsOfSweep(harmless), IsEmpty());
}

TEST_F(KubeApiUserTest, WhoMayCreatePodsMaySetThem) {
  cluster_.Allow("ann create pods team");

  const auto created = PostTo(kJobs, Job({{"podTemplate", {{"serviceAccountName", "admin"}}}}));

  EXPECT_EQ(created->status, 201) << created->body;
}

}  // namespace
}  // namespace eidolon::controller::kube_host
