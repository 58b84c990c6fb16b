#include "services/controller/job/object_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "services/controller/job/condition.h"
#include "services/controller/job/job.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json JobOf(json spec) {
  spec["image"] = "train:1";
  spec["clusterRef"] = {{"name", "pod"}};
  if (!spec.contains("command")) spec["command"] = {"true"};
  return {{"apiVersion", kApiVersion},
          {"kind", kJobKind},
          {"metadata", {{"name", "a"}}},
          {"spec", std::move(spec)}};
}

TEST(ObjectSizeTest, AJobThatItsStatusDoesNotFitBesideIsRefusedByItsLargestField) {
  json environment = json::array();
  for (int i = 0; i < 80; ++i) {
    environment.push_back({{"name", "A" + std::to_string(i)}, {"value", std::string(4000, 'x')}});
  }

  const Problems problems = ParseJob(JobOf({{"env", environment}}), Mode::kKubernetes).problems;

  ASSERT_EQ(problems.size(), 1u) << Describe(problems);
  EXPECT_EQ(problems[0].pointer, "/spec");
  EXPECT_THAT(problems[0].detail, HasSubstr("of them in env"));
  EXPECT_THAT(problems[0].detail, HasSubstr("at most 262144"));
  environment.erase(environment.begin(), environment.begin() + 20);
  EXPECT_THAT(ParseJob(JobOf({{"env", environment}}), Mode::kKubernetes).problems, IsEmpty());
}

// The schema of the definition does not look into these.
TEST(ObjectSizeTest, FieldsOfPodsCountWhateverTheyHold) {
  json volumes = json::array();
  volumes.push_back({{"name", "a"}, {"configMap", {{"name", std::string(300'000, 'x')}}}});

  const json job = JobOf({{"podTemplate", {{"volumes", volumes}}}});

  EXPECT_THAT(Describe(ParseJob(job, Mode::kKubernetes).problems),
              HasSubstr("of them in podTemplate"));
}

TEST(ObjectSizeTest, OneMachineHasNoSuchLimit) {
  const json job = JobOf({{"workingDirectory", "/" + std::string(300'000, 'x')}});

  json alone = job;
  alone["spec"].erase("clusterRef");
  alone["spec"]["cluster"] = {{"server", {{"preset", "dgx-h100"}}}};
  EXPECT_THAT(Describe(ParseJob(alone, Mode::kEmbedded).problems),
              ::testing::Not(HasSubstr("bytes as JSON")));
}

TEST(ObjectSizeTest, AClusterOfTooManyCablesIsRefused) {
  json cables = json::array();
  for (int i = 0; i < 10'000; ++i) {
    cables.push_back({{"from", "leaf-0000000001"}, {"to", "spine-000000001"}, {"gbps", 400}});
  }
  const json cluster = {
      {"apiVersion", kApiVersion},
      {"kind", kClusterKind},
      {"metadata", {{"name", "c"}}},
      {"spec",
       {{"servers", 1}, {"server", {{"preset", "dgx-h100"}}}, {"fabric", {{"cables", cables}}}}}};

  Problems problems;
  CheckSpecSize(cluster, kClusterSpecBytesMax, &problems);

  EXPECT_THAT(Describe(problems), HasSubstr("of them in fabric"));
}

TEST(ObjectSizeTest, MessagesOfConditionsAreCutBetweenCharacters) {
  Conditions conditions;
  std::string text = "x";
  while (text.size() <= 2 * kMessageBytesMax) text += "\xC3\xA4";
  conditions.Set({.type = "Failed",
                  .value = true,
                  .reason = "A",
                  .message = text,
                  .last_transition_time = ""});

  const std::string kept = conditions.Find("Failed")->message;

  EXPECT_LE(kept.size(), kMessageBytesMax);
  EXPECT_GT(kept.size(), kMessageBytesMax - 16);
  EXPECT_TRUE(kept.ends_with("..."));
  EXPECT_NO_THROW((void)conditions.ToJson().dump());
}

}  // namespace
}  // namespace eidolon::controller::job
