#include "services/controller/search/apply_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "services/controller/job/problem.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ApplyPresetTest : public ::testing::Test {
 protected:
  ApplyPresetTest() {
    document_ = {{"apiVersion", "eidolon.dev/v1alpha1"},
                 {"kind", "SimulationSearch"},
                 {"metadata", {{"name", "preset"}}},
                 {"spec",
                  {{"preset", "megatron-core"},
                   {"job",
                    {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}},
                     {"command", {"torchrun", "pretrain_gpt.py"}}}},
                   {"space", {{"tp", {1, 2}}}},
                   {"objective", {{"minimize", "iterationSeconds"}}}}}};
  }
  SearchSpec Parse() {
    ParsedSearch search = ParseSearch(document_);
    EXPECT_THAT(search.problems, IsEmpty()) << job::Describe(search.problems);
    return std::move(search.spec);
  }
  // The words of each point's command behind those of the document.
  static std::vector<std::string> AddedWords(const SearchSpec& spec, std::size_t written) {
    job::Problems problems;
    std::vector<std::string> added;
    const Grid grid = MakeGrid(spec, &problems);
    EXPECT_THAT(problems, IsEmpty()) << job::Describe(problems);
    for (const Point& point : grid.points) {
      std::string words;
      for (std::size_t i = written; i < point.job["command"].size(); ++i) {
        words += (words.empty() ? "" : " ") + point.job["command"][i].get<std::string>();
      }
      added.push_back(words);
    }
    return added;
  }
  static std::vector<std::string> ConstraintsOf(const SearchSpec& spec) {
    std::vector<std::string> texts;
    for (const Expression& constraint : spec.constraints) texts.push_back(constraint.text());
    return texts;
  }
  json& job() { return document_["spec"]["job"]; }
  json& space() { return document_["spec"]["space"]; }

  json document_;
};

TEST_F(ApplyPresetTest, FlagsAndSwitchesFollowTheCommand) {
  space() = {{"tp", {2}}, {"sp", {false, true}}, {"recompute", {"none", "selective"}}};

  EXPECT_THAT(AddedWords(Parse(), 2),
              ElementsAre("--tensor-model-parallel-size 2",
                          "--tensor-model-parallel-size 2 --sequence-parallel",
                          "--tensor-model-parallel-size 2 --recompute-granularity selective",
                          "--tensor-model-parallel-size 2 --recompute-granularity selective "
                          "--sequence-parallel"));
}

TEST_F(ApplyPresetTest, AParameterThatTheJobNamesHasNoFlag) {
  job()["command"] = {"torchrun", "gpt.py", "--tensor", "${tp}"};

  EXPECT_THAT(AddedWords(Parse(), 2), ElementsAre("--tensor 1", "--tensor 2"));
}

TEST_F(ApplyPresetTest, VariablesOfTheEnvironmentAreSet) {
  document_["spec"]["preset"] = "hugging-face";
  space() = {{"shard", {8}}, {"tp", {2}}};
  job()["env"] = json::array();
  job::Problems problems;

  const Grid grid = MakeGrid(Parse(), &problems);

  ASSERT_THAT(grid.points, SizeIs(1));
  EXPECT_THAT(grid.points[0].job["env"],
              Contains(json({{"name", "PARALLELISM_CONFIG_TP_SIZE"}, {"value", "2"}})));
}

TEST_F(ApplyPresetTest, RulesTakeTheValuesOfTheCommandLine) {
  job()["command"] = {"torchrun",
                      "pretrain_gpt.py",
                      "--num-attention-heads=3",
                      "--pipeline_model_parallel_size",
                      "2",
                      "--num-layers",
                      "7"};
  const SearchSpec spec = Parse();
  job::Problems problems;
  const Grid grid = MakeGrid(spec, &problems);

  // Three heads for two ranks, and seven layers for two stages.
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].detail, HasSubstr("1 by 'heads % tp == 0'"));
  EXPECT_THAT(problems[0].detail, HasSubstr("1 by 'layers % pp == 0'"));
}

TEST_F(ApplyPresetTest, AFlagWithAPlaceholderIsThatParameter) {
  job()["command"] = {
      "torchrun", "pretrain_gpt.py", "--num-layers", "${depth}", "--pipeline-model-parallel-size",
      "4"};
  space() = {{"depth", {6, 8}}};
  job::Problems problems;

  const Grid grid = MakeGrid(Parse(), &problems);

  ASSERT_THAT(grid.points, SizeIs(1));
  EXPECT_EQ(grid.points[0].name, "depth=8");
}

TEST_F(ApplyPresetTest, ARuleWithoutItsValuesSaysNothingAndIsNamed) {
  const SearchSpec spec = Parse();

  EXPECT_THAT(ConstraintsOf(spec), Not(Contains("heads % tp == 0")));
  EXPECT_THAT(spec.lacking, Contains("heads"));
  EXPECT_THAT(spec.lacking, Not(Contains("pp")));
}

TEST_F(ApplyPresetTest, AWordCanSilenceARule) {
  document_["spec"]["model"] = {{"layers", 7}};
  EXPECT_THAT(ConstraintsOf(Parse()), Contains("layers % pp == 0"));

  job()["command"].push_back("--decoder-first-pipeline-num-layers");
  job()["command"].push_back("3");
  EXPECT_THAT(ConstraintsOf(Parse()), Not(Contains("layers % pp == 0")));
}

TEST_F(ApplyPresetTest, ConstraintsOfTheDocumentFollowAndMayNameWhatThePresetKnows) {
  document_["spec"]["model"] = {{"layers", 40}, {"width", 5120}};
  document_["spec"]["constraints"] = {"width % tp == 0", "layers / pp >= 2", "etp <= 8"};

  const SearchSpec spec = Parse();

  EXPECT_EQ(spec.constraints.back().text(), "etp <= 8");
  EXPECT_EQ(spec.constraints.size(), spec.reasons.size() + 3);
}

TEST_F(ApplyPresetTest, WithoutASpaceThePresetsValuesAreSearched) {
  document_["spec"].erase("space");

  const SearchSpec spec = Parse();

  std::vector<std::string> names;
  for (const auto& [name, values] : spec.space) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("micro", "pp", "recompute", "tp"));
}

TEST_F(ApplyPresetTest, AJobWithoutACommandGetsNone) {
  for (const json& command : {json(), json("torchrun"), json(3)}) {
    job()["command"] = command;
    if (command.is_null()) job().erase("command");

    const ParsedSearch search = ParseSearch(document_);

    EXPECT_EQ(search.spec.job.value("command", json()), command);
  }
}

TEST_F(ApplyPresetTest, WrongNamesAreReportedAtTheirPlaces) {
  document_["spec"]["preset"] = "megatron";
  document_["spec"]["model"] = {{"world", 3}, {"tp", 2}, {"layers", json::array()}};

  const std::string problems = job::Describe(ParseSearch(document_).problems);

  EXPECT_THAT(problems, HasSubstr("/spec/preset: 'megatron' is not known. Allowed: deepspeed"));
  EXPECT_THAT(problems, HasSubstr("/spec/model/world: is a name that"));
  EXPECT_THAT(problems, HasSubstr("/spec/model/tp: is a parameter of space"));
  EXPECT_THAT(problems, HasSubstr("/spec/model/layers: must be a number, a text or a truth"));
}

}  // namespace
}  // namespace eidolon::controller::search
