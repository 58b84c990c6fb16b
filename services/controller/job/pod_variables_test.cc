// Variables of a job that the kubelet fills in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/controller/job/job.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Job(const char* field, json value) {
  json job = {{"apiVersion", "eidolon.dev/v1alpha1"},
              {"kind", "SimulationJob"},
              {"metadata", {{"name", "small"}}},
              {"spec",
               {{"clusterRef", {{"name", "pod"}}},
                {"image", "team/train:1"},
                {"command", {"torchrun", "train.py"}}}}};
  job["spec"][field] = std::move(value);
  return job;
}

json Secret() { return {{"name", "TOKEN"}, {"valueFrom", {{"secretKeyRef", json::object()}}}}; }

std::string ProblemsOf(const json& job, Mode mode) {
  return Describe(ParseJob(job, mode).problems);
}

TEST(PodVariablesTest, AreNotOfTheEnvironmentThatAgentsAreSent) {
  const ParsedJob job =
      ParseJob(Job("env", {Secret(), {{"name", "SEED"}, {"value", "1"}}}), Mode::kKubernetes);

  EXPECT_EQ(Describe(job.problems), "");
  EXPECT_EQ(job.spec.environment, (Environment{{"SEED", "1"}}));
}

TEST(PodVariablesTest, NeedPods) {
  EXPECT_THAT(ProblemsOf(Job("env", json::array({Secret()})), Mode::kEmbedded),
              HasSubstr("exists on Kubernetes only"));
}

TEST(PodVariablesTest, HaveOneSource) {
  json both = Secret();
  both["value"] = "1";

  EXPECT_THAT(ProblemsOf(Job("env", json::array({both})), Mode::kKubernetes),
              HasSubstr("cannot be given together with value"));
}

TEST(PodVariablesTest, MayComeFromWholeConfigMaps) {
  const json sources = json::array({{{"configMapRef", {{"name", "settings"}}}}});

  EXPECT_EQ(ProblemsOf(Job("envFrom", sources), Mode::kKubernetes), "");
  EXPECT_THAT(ProblemsOf(Job("envFrom", "settings"), Mode::kKubernetes),
              HasSubstr("must be a list of sources"));
}

}  // namespace
}  // namespace eidolon::controller::job
