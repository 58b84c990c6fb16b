#include "services/cli/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

RecordedJob Recorded(int servers) {
  return {
      .job = json::object(),
      .status = {{"prediction",
                  {{"target",
                    {{"servers", servers},
                     {"ranks", 8},
                     {"cluster",
                      {{"fabric", {{"preset", "rail-optimised"}}},
                       {"server", {{"gpu", "H100-SXM5-80GB"}, {"nics", {{"gbps", 400}}}}}}}}}}}}};
}

std::vector<std::string> NamesOf(const std::vector<WhatIf>& all) {
  std::vector<std::string> names;
  for (const WhatIf& one : all) names.push_back(one.name);
  return names;
}

json Job(double seconds) {
  return {{"status",
           {{"phase", seconds > 0 ? "Complete" : "Failed"},
            {"conditions",
             {{{"type", seconds > 0 ? "Complete" : "Failed"},
               {"status", "True"},
               {"message", "too few GPUs"}}}},
            {"prediction", {{"iterationSeconds", {{"mean", seconds}}}}}}}};
}

TEST(WhatIfTest, AsksAboutTheNetworkWhereThereAreSeveralServers) {
  EXPECT_THAT(NamesOf(WhatIfsOf(Recorded(1), "")),
              ::testing::ElementsAre("no host time", "a host twice as fast", "GPU B200-SXM-180GB",
                                     "communication hidden as well as can be",
                                     "all hosts as fast as the fastest"));
  EXPECT_THAT(NamesOf(WhatIfsOf(Recorded(2), "L40S")),
              ::testing::ElementsAre("no host time", "a host twice as fast", "GPU L40S",
                                     "communication hidden as well as can be",
                                     "all hosts as fast as the fastest", "NICs of 800 Gbit/s",
                                     "all servers in one NVLink domain"));
}

TEST(WhatIfTest, PutsWhatHelpsMostFirstAndSaysWhatHasNoAnswer) {
  const json answers = WhatIfsToJson(Job(1), {{"worse", {Job(1.5)}},
                                              {"broken", {Job(0.1), Job(0)}},
                                              {"best", {Job(0.25)}},
                                              {"good", {Job(0.2), Job(0.5)}}});
  const std::string text = FormatWhatIfs(answers);
  EXPECT_EQ(answers["whatIfs"][1]["iterationSeconds"], 0.5);
  EXPECT_LT(text.find("best"), text.find("good"));
  EXPECT_LT(text.find("good"), text.find("worse"));
  EXPECT_LT(text.find("worse"), text.find("broken"));
  EXPECT_THAT(text, HasSubstr("-75.0 %"));
  EXPECT_THAT(text, HasSubstr("not answered     broken: too few GPUs"));
  EXPECT_EQ(answers["notAnswered"], 1);
}

TEST(WhatIfTest, NamesWhatWasRefusedAndRanksTheRest) {
  const json answers =
      WhatIfsToJson(Job(1), {{.name = "refused", .jobs = {Job(0.1)}, .refusal = "no such\nGPU"},
                             {.name = "good", .jobs = {Job(0.5)}}});

  EXPECT_EQ(answers["notAnswered"], 1);
  EXPECT_EQ(answers["whatIfs"][0]["name"], "good");
  EXPECT_EQ(answers["whatIfs"][1], json({{"name", "refused"}, {"message", "no such\nGPU"}}));
  EXPECT_THAT(FormatWhatIfs(answers), HasSubstr("not answered     refused: no such\\x0aGPU\n"));
  EXPECT_EQ(WhatIfsToJson(Job(1), {{"good", {Job(0.5)}}})["notAnswered"], 0);
}

TEST(WhatIfTest, AddsToTheDiagnosisWhatAReplayWithoutTheFaultHasGiven) {
  json job = Job(1);
  job["status"]["prediction"]["diagnosis"] = {
      {{"rule", "host"}, {"sentence", "Limited by Python."}},
      {{"rule", "pipeline"}, {"sentence", "Bubbles."}},
      {{"rule", "memory-bound"}, {"sentence", "Memory."}}};
  const json answers = WhatIfsToJson(
      Job(1),
      {{"no host time", {Job(0.75)}}, {"communication hidden as well as can be", {Job(0)}}});

  AddReplays(answers, &job);

  const json& diagnosis = job["status"]["prediction"]["diagnosis"];
  EXPECT_EQ(diagnosis[0]["sentence"], "Limited by Python. By replay, no host time: -25 %.");
  EXPECT_EQ(diagnosis[0]["replayedChange"], -0.25);
  EXPECT_EQ(diagnosis[1]["sentence"], "Bubbles.") << "its replay has no answer";
  EXPECT_EQ(diagnosis[2]["sentence"], "Memory.") << "no replay is without it";
  json other = Job(1);
  AddReplays(answers, &other);
  EXPECT_EQ(other, Job(1));
}

}  // namespace
}  // namespace eidolon::cli
