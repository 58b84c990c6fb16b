#include "services/controller/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "services/controller/job/document.h"
#include "services/controller/search/report_field.h"
#include "services/controller/search/schema.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLayouts[] = R"(
apiVersion: eidolon.dev/v1alpha1
kind: SimulationSearch
metadata: {name: layouts}
spec:
  job:
    cluster: {servers: "${nodes}", server: {preset: dgx-a100}}
    command: [torchrun, train.py, --tensor, "${tp}"]
    env: [{name: MICRO, value: "${micro}"}]
  space:
    nodes: [1, 2]
    tp: {from: 1, to: 8, times: 2}
    micro: {from: 2, to: 6, step: 2}
    layers: 40
  constraints: ["world % tp == 0", "layers % tp == 0"]
  objective: {maximize: tokensPerSecond, subjectTo: ["memoryHeadroom >= 0.05"]}
  budget: {points: 4, wallSeconds: 60}
)";

json Document() { return job::ParseYaml(kLayouts)->front(); }

// All problems of the document with one field replaced; null removes it.
std::string ProblemsWith(const std::string& pointer, const json& value) {
  json document = Document();
  document[json::json_pointer(pointer)] = value;
  return job::Describe(ParseSearch(document).problems);
}

TEST(SearchTest, ReadsParametersConstraintsObjectiveAndBudget) {
  const ParsedSearch search = ParseSearch(Document());

  ASSERT_THAT(search.problems, IsEmpty()) << job::Describe(search.problems);
  ASSERT_EQ(search.spec.space.size(), 4u);
  EXPECT_THAT(search.spec.space[0].second, ElementsAre(40));
  EXPECT_THAT(search.spec.space[1].second, ElementsAre(2, 4, 6));
  EXPECT_THAT(search.spec.space[3].second, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(search.spec.constraints.size(), 2u);
  EXPECT_TRUE(search.spec.objective.maximize);
  EXPECT_EQ(search.spec.objective.field, "tokensPerSecond");
  EXPECT_EQ(search.spec.points_max, 4u);
  EXPECT_EQ(search.spec.wall_seconds_max, 60u);
}

struct Wrong {
  std::string name;
  std::string pointer;
  json value;
  std::string problem;
};

class WrongSearchTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSearchTest, IsReportedAtItsPlace) {
  const Wrong& wrong = GetParam();
  EXPECT_THAT(ProblemsWith(wrong.pointer, wrong.value), HasSubstr(wrong.problem));
}

INSTANTIATE_TEST_SUITE_P(
    , WrongSearchTest,
    ::testing::Values(
        Wrong{"Kind", "/kind", "SimulationSweep", "/kind: 'SimulationSweep'"},
        Wrong{"NoJob", "/spec/job", nullptr, "/spec/job: is required"},
        Wrong{"JobFile", "/spec/job", "job.yaml", "/spec/job: must be the spec"},
        Wrong{"NoSpace", "/spec/space", nullptr, "/spec/space: is required"},
        Wrong{"ReservedName", "/spec/space/world", json::array({1, 2}),
              "/spec/space/world: is a name that"},
        Wrong{"BadName", "/spec/space/a-b", json::array({1}), "/spec/space/a-b: must be a name"},
        Wrong{"NoValues", "/spec/space/tp", json::array(), "/spec/space/tp: must have from 1"},
        Wrong{"ListInList", "/spec/space/tp", json::array({json::array({1})}),
              "/spec/space/tp: must be a list of numbers"},
        Wrong{"Twice", "/spec/space/tp", json::array({2, 2}), "/spec/space/tp: has 2 twice"},
        Wrong{"Backwards", "/spec/space/tp", {{"from", 4}, {"to", 1}}, "/spec/space/tp/to: must"},
        Wrong{"FromZero",
              "/spec/space/tp",
              {{"from", 0}, {"to", 8}, {"times", 2}},
              "/spec/space/tp/from: must be at least 1"},
        Wrong{"StepAndTimes",
              "/spec/space/tp",
              {{"from", 1}, {"to", 8}, {"times", 2}, {"step", 1}},
              "/spec/space/tp/step: cannot be given together"},
        Wrong{"LongRange",
              "/spec/space/tp",
              {{"from", 1}, {"to", 5000}},
              "/spec/space/tp/to: makes more than 1000"},
        Wrong{"UnknownInConstraint", "/spec/constraints/0", "wrld % tp == 0",
              "/spec/constraints/0: 'wrld' is not known, did you mean 'world'?"},
        Wrong{"BadConstraint", "/spec/constraints/1", "tp = 2", "/spec/constraints/1: '='"},
        Wrong{"NumberAsConstraint", "/spec/constraints/0", 3, "/spec/constraints/0: must be an"},
        Wrong{"NoObjective", "/spec/objective", nullptr, "/spec/objective: is required"},
        Wrong{"BothDirections", "/spec/objective/minimize", "gpus", "only one of them"},
        Wrong{"UnknownField", "/spec/objective/maximize", "tokensPerSec",
              "/spec/objective/maximize: 'tokensPerSec', did you mean 'tokensPerSecond'?"},
        Wrong{"CostWithoutPrice", "/spec/objective/subjectTo/0", "costPerHour < 100",
              "/spec/price: is required for costPerHour"},
        Wrong{"UnknownInCondition", "/spec/objective/subjectTo/0", "world > 1",
              "/spec/objective/subjectTo/0: 'world' is not known"},
        Wrong{"UnusedParameter", "/spec/space/cp", json::array({1, 2}),
              "/spec/space/cp: is used nowhere in the job: write ${cp}"},
        Wrong{"UnknownPlaceholder", "/spec/job/command/3", "${tpp}",
              "/spec/job/command/3: 'tpp' is not a parameter of space, did you mean 'tp'?"},
        Wrong{"PlaceholderElsewhere",
              "/spec/job/hostModel",
              {{"kind", "${tp}"}},
              "/spec/job/hostModel/kind: has ${tp}, and values are filled in only in command"},
        Wrong{"Outputs", "/spec/job/outputs", {{"recording", true}}, "/spec/job/outputs: cannot"},
        Wrong{"Parallel", "/spec/budget/parallel", 65, "/spec/budget/parallel: must be"},
        Wrong{"Preset", "/spec/preset", "megatron",
              "/spec/preset: 'megatron' is not known. Allowed: deepspeed"},
        Wrong{"OneObjective", "/spec/objectives", json::array({{{"maximize", "gpus"}}}),
              "/spec/objectives: must have two or more"},
        Wrong{"ObjectiveTwice", "/spec/objectives",
              json::array({{{"maximize", "gpus"}}, {{"minimize", "gpus"}}}),
              "/spec/objectives: has gpus twice"},
        Wrong{"ObjectiveOfNone", "/spec/objectives",
              json::array({{{"maximize", "gpus"}}, {{"maximize", "speed"}}}),
              "/spec/objectives/1/maximize: 'speed'"},
        Wrong{"ObjectivesWithoutPrice", "/spec/objectives",
              json::array({{{"maximize", "gpus"}}, {{"minimize", "costPerUnit"}}}),
              "/spec/price: is required for costPerUnit"},
        Wrong{"UnknownSpecField", "/spec/constraint", json::array({"tp < 2"}),
              "/spec/constraint: unknown field, did you mean 'constraints'?"},
        Wrong{"NegativePrice", "/spec/price", {{"A100", -1}}, "/spec/price/A100: must be what"}),
    [](const auto& wrong) { return wrong.param.name; });

TEST(SearchTest, AllProblemsAreReportedAtOnce) {
  json document = Document();
  document["spec"]["constraints"] = {"tp =", "pp > 1"};
  document["spec"]["objective"] = {{"maximize", "speed"}};
  document["spec"]["budget"] = {{"points", 0}};

  EXPECT_EQ(ParseSearch(document).problems.size(), 4u)
      << job::Describe(ParseSearch(document).problems);
}

TEST(SearchTest, AGridOfTooManyPointsIsRefusedBeforeItIsMade) {
  json document = Document();
  for (const char* name : {"a", "b", "c", "d"}) {
    document["spec"]["space"][name] = {{"from", 1}, {"to", 900}};
  }

  EXPECT_THAT(job::Describe(ParseSearch(document).problems),
              HasSubstr("/spec/space: has more than 10000 combinations"));
}

// The names of `object` in the schema at `pointer`, as a problem of an unknown field lists them.
std::set<std::string> DescribedAt(const std::string& pointer) {
  const json schema = json::parse(SearchSchema());
  std::set<std::string> names;
  for (const auto& [name, value] :
       schema.at(json::json_pointer("/components/schemas/SearchSpec" + pointer)).items()) {
    names.insert(name);
  }
  return names;
}
std::set<std::string> AllowedAt(const std::string& pointer) {
  const std::string text = ProblemsWith(pointer + "/qqqqqqqqqqqqqqq", 1);
  std::set<std::string> names;
  std::size_t at = text.find("Allowed: ");
  for (at += at == text.npos ? 0 : 9; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.find('\n', at));
    names.insert(text.substr(at, std::min(end, text.size()) - at));
    if (end >= text.size() || text[end] == '\n') break;
    at = end + 2;
  }
  return names;
}

TEST(SearchTest, TheSchemaDescribesWhatIsAccepted) {
  // Fields that are refused by name are known, and have no effect to describe.
  std::set<std::string> spec = AllowedAt("/spec");
  const std::set<std::string> budget = AllowedAt("/spec/budget");
  EXPECT_EQ(spec.erase("proposer"), 1u);

  EXPECT_EQ(spec, DescribedAt("/properties"));
  EXPECT_EQ(budget, DescribedAt("/properties/budget/properties"));
  const json schema = json::parse(SearchSchema());
  const json& fields = schema.at(json::json_pointer(
      "/components/schemas/SearchSpec/properties/objective/properties/maximize/enum"));
  ASSERT_EQ(fields.size(), ReportFields().size());
  for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(fields[i], ReportFields()[i].name);
}

TEST(SearchTest, AnyTreeHasProblemsAndNothingWorse) {
  for (const json& document : {json(), json(3), json::array(), json::object()}) {
    EXPECT_FALSE(ParseSearch(document).problems.empty());
  }
}

}  // namespace
}  // namespace eidolon::controller::search
