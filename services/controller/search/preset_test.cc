#include "services/controller/search/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "services/controller/job/problem.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A search of one point: two servers of eight GPUs.
json DocumentWith(const std::string& preset, const json& point, const json& model,
                  const json& command) {
  return {{"apiVersion", "eidolon.dev/v1alpha1"},
          {"kind", "SimulationSearch"},
          {"metadata", {{"name", "preset"}}},
          {"spec",
           {{"preset", preset},
            {"job",
             {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}},
              {"command", command}}},
            {"space", point},
            {"model", model},
            {"objective", {{"minimize", "iterationSeconds"}}}}}};
}

// The rule that cuts the point; empty: it is legal.
std::string CutBy(const std::string& preset, const json& point, const json& model,
                  const json& command = {"torchrun", "train.py"}) {
  const ParsedSearch search = ParseSearch(DocumentWith(preset, point, model, command));
  if (!search.problems.empty()) return job::Describe(search.problems);
  sweep::SweepPoint values;
  for (const auto& [name, choices] : search.spec.space) values.emplace_back(name, choices.front());
  job::Problems problems;
  const MadePoint made = MakePoint(search.spec, values, &problems);
  if (!problems.empty()) return job::Describe(problems);
  return made.cut ? search.spec.constraints[*made.cut].text() : "";
}

TEST(PresetTest, EachFileIsAPreset) {
  EXPECT_THAT(PresetNames(),
              ElementsAre("deepspeed", "hugging-face", "megatron-core", "torchtitan"));
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    const auto parsed = ParsePreset(preset.name, preset.text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_GE(parsed->rules.size(), 8u) << preset.name;
  }
}

TEST(PresetTest, AFileThatIsNoneSaysWhere) {
  const auto fails = [](const char* text) {
    const auto parsed = ParsePreset("x", text);
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_THAT(fails("parameters: {tp: {flag: --tp, switch: --on, about: a}}"),
              HasSubstr("/parameters/tp/flag: switch, env and words exclude each other"));
  EXPECT_THAT(fails("parameters: {tp: {about: a, like: pp}}"), HasSubstr("/parameters/tp/like"));
  EXPECT_THAT(fails("rules: [{holds: tp > 1, check: c}]"), HasSubstr("'tp' is not a parameter"));
  EXPECT_THAT(fails("rules: [{holds: 'world >', check: c}]"), HasSubstr("/rules/0/holds: "));
  EXPECT_THAT(fails("rules: [{holds: world > 1}]"), HasSubstr("/rules/0/check: or practice"));
}

struct Legality {
  std::string name;
  std::string preset;
  json point;
  json model;
  std::string cut;  // Empty: it is legal.
};

class PresetLegalityTest : public ::testing::TestWithParam<Legality> {};

TEST_P(PresetLegalityTest, IsThatOfTheFramework) {
  const Legality& row = GetParam();
  EXPECT_EQ(CutBy(row.preset, row.point, row.model), row.cut);
}

const json kGpt = {{"layers", 40}, {"heads", 40},      {"kvHeads", 8},
                   {"ffn", 13824}, {"sequence", 2048}, {"globalBatch", 64}};
const json kExperts = {{"layers", 32}, {"heads", 32}, {"experts", 8}, {"globalBatch", 64}};

INSTANTIATE_TEST_SUITE_P(
    Megatron, PresetLegalityTest,
    ::testing::Values(
        Legality{"Plain", "megatron-core", {{"tp", 4}, {"pp", 2}, {"micro", 2}}, kGpt, ""},
        Legality{
            "World", "megatron-core", {{"tp", 8}, {"pp", 4}}, kGpt, "world % (tp * pp * cp) == 0"},
        Legality{
            "ExpertWorld", "megatron-core", {{"ep", 32}}, kExperts, "world % (etp * ep * pp) == 0"},
        Legality{"ExpertsHaveTheirOwnTensorDegree",
                 "megatron-core",
                 {{"ep", 8}, {"etp", 1}, {"tp", 4}, {"sp", true}},
                 kExperts,
                 ""},
        Legality{
            "BeyondAServer", "megatron-core", {{"tp", 16}}, {{"heads", 64}}, "tp <= gpusPerServer"},
        Legality{"Heads", "megatron-core", {{"tp", 8}}, {{"heads", 12}}, "heads % tp == 0"},
        Legality{
            "KeysMayBeFewer", "megatron-core", {{"tp", 8}}, {{"heads", 40}, {"kvHeads", 4}}, ""},
        Legality{"Keys",
                 "megatron-core",
                 {{"tp", 4}},
                 {{"heads", 24}, {"kvHeads", 6}},
                 "kvHeads % tp == 0 or tp % kvHeads == 0"},
        Legality{"FeedForward",
                 "megatron-core",
                 {{"tp", 8}},
                 {{"heads", 8}, {"ffn", 1364}},
                 "ffn % tp == 0"},
        Legality{"SequenceParallelNeedsTensor",
                 "megatron-core",
                 {{"sp", true}, {"tp", 1}},
                 kGpt,
                 "not sp or tp > 1"},
        Legality{"SequenceParallel",
                 "megatron-core",
                 {{"sp", true}, {"tp", 8}},
                 {{"heads", 8}, {"sequence", 2044}},
                 "not sp or sequence % (tp * cp) == 0"},
        Legality{"Context",
                 "megatron-core",
                 {{"cp", 2}},
                 {{"sequence", 2046}},
                 "cp == 1 or sequence % (2 * cp) == 0"},
        Legality{"Layers", "megatron-core", {{"pp", 16}}, kGpt, "layers % pp == 0"},
        Legality{"InterleavingNeedsStages",
                 "megatron-core",
                 {{"vpp", 2}, {"pp", 1}},
                 kGpt,
                 "vpp == 1 or pp > 1"},
        Legality{"InterleavedLayers",
                 "megatron-core",
                 {{"vpp", 3}, {"pp", 4}},
                 kGpt,
                 "vpp == 1 or layers % (pp * vpp) == 0"},
        Legality{"FewMicrobatches",
                 "megatron-core",
                 {{"vpp", 2}, {"pp", 4}, {"micro", 8}},
                 kGpt,
                 "vpp == 1 or globalBatch >= micro * world / (tp * cp)"},
        Legality{"NoExperts", "megatron-core", {{"ep", 2}}, kGpt, "ep == 1 or experts > 0"},
        Legality{"UnevenExperts",
                 "megatron-core",
                 {{"ep", 16}},
                 kExperts,
                 "ep == 1 or experts % ep == 0"},
        Legality{"ExpertsNeedSequenceParallel",
                 "megatron-core",
                 {{"tp", 2}, {"sp", false}},
                 kExperts,
                 "experts == 0 or tp == 1 or sp"},
        Legality{"GlobalBatch",
                 "megatron-core",
                 {{"micro", 8}, {"tp", 1}},
                 kGpt,
                 "globalBatch % (micro * world / (tp * pp * cp)) == 0"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    TorchTitan, PresetLegalityTest,
    ::testing::Values(
        Legality{"Plain", "torchtitan", {{"tp", 4}, {"pp", 2}, {"micro", 2}}, kGpt, ""},
        Legality{"World",
                 "torchtitan",
                 {{"tp", 3}},
                 json::object(),
                 "world % (replicate * cp * tp * pp) == 0"},
        Legality{"Shards",
                 "torchtitan",
                 {{"shard", 4}, {"tp", 2}},
                 json::object(),
                 "shard == -1 or replicate * shard * cp * tp * pp == world"},
        Legality{"KeysMustNotBeFewer",
                 "torchtitan",
                 {{"tp", 8}},
                 {{"heads", 40}, {"kvHeads", 4}},
                 "kvHeads % tp == 0"},
        Legality{"Sequence",
                 "torchtitan",
                 {{"tp", 2}, {"cp", 2}},
                 {{"sequence", 2044}},
                 "cp == 1 and sequence % tp == 0 or sequence % (2 * cp * tp) == 0"},
        Legality{"Experts",
                 "torchtitan",
                 {{"ep", 16}, {"pp", 2}},
                 json::object(),
                 "world / (replicate * pp) % ep == 0"},
        Legality{"PipelineMicro",
                 "torchtitan",
                 {{"pp", 2}, {"micro", 3}, {"pipelineMicro", 2}},
                 json::object(),
                 "pp == 1 or micro % pipelineMicro == 0"},
        Legality{
            "Stages", "torchtitan", {{"pp", 16}}, {{"layers", 6}}, "pp == 1 or pp <= layers + 2"},
        Legality{"GlobalBatch",
                 "torchtitan",
                 {{"micro", 8}},
                 {{"globalBatch", 64}},
                 "globalBatch == -1 or globalBatch % (micro * world / (tp * pp * cp)) == 0"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    DeepSpeed, PresetLegalityTest,
    ::testing::Values(
        Legality{"Plain", "deepspeed", {{"zero", 3}}, {{"micro", 2}, {"globalBatch", 64}}, ""},
        Legality{"Stage", "deepspeed", {{"zero", 4}}, json::object(), "zero >= 0 and zero <= 3"},
        Legality{"Pipeline", "deepspeed", {{"zero", 2}}, {{"pp", 2}}, "pp == 1 or zero < 2"},
        Legality{"Offload",
                 "deepspeed",
                 {{"zero", 2}},
                 {{"offloadParameters", true}},
                 "not offloadParameters or zero == 3"},
        Legality{"Ulysses",
                 "deepspeed",
                 {{"zero", 3}},
                 {{"sp", 8}, {"heads", 12}},
                 "sp == 1 or heads % sp == 0"},
        Legality{"Batch",
                 "deepspeed",
                 {{"zero", 1}},
                 {{"micro", 2}, {"accumulation", 3}, {"globalBatch", 64}},
                 "globalBatch == micro * accumulation * world / (tp * pp * sp)"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    HuggingFace, PresetLegalityTest,
    ::testing::Values(Legality{"Plain", "hugging-face", {{"micro", 4}}, json::object(), ""},
                      Legality{"Sizes",
                               "hugging-face",
                               {{"shard", 4}, {"tp", 2}},
                               json::object(),
                               "replicate * shard * tp * cp * sp == 1 or sp > 1 or "
                               "replicate * shard * tp * cp == world"},
                      Legality{"Composed",
                               "hugging-face",
                               {{"replicate", 8}, {"tp", 2}},
                               json::object(),
                               "tp * cp == 1 or replicate == 1 or shard > 1"},
                      Legality{"ContextAndSequence",
                               "hugging-face",
                               {{"cp", 2}, {"sp", 2}},
                               {{"shard", 8}},
                               "cp == 1 or sp == 1"},
                      Legality{"GlobalBatch",
                               "hugging-face",
                               {{"micro", 4}},
                               {{"accumulation", 2}, {"globalBatch", 64}},
                               "globalBatch == micro * accumulation * world / (tp * cp * sp)"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace eidolon::controller::search
