#include "services/controller/search/ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/controller/job/document.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/search.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kAskedLayouts[] = R"(
apiVersion: eidolon.dev/v1alpha1
kind: SimulationSearch
metadata: {name: asked}
spec:
  job:
    cluster: {servers: 2, server: {preset: dgx-a100}}
    command: [torchrun, train.py, --tensor, "${tp}", --recompute, "${recompute}"]
    iterations: {tokens: 1000}
  space:
    tp: {from: 1, to: 8, times: 2}
    recompute: [none, full]
    layers: 12
  constraints: ["layers % tp == 0"]
  objective: {maximize: tokensPerSecond, subjectTo: ["recompute == 'full' or tp < 4"]}
  price: {A100-SXM4-80GB: 2}
)";

class AskTest : public ::testing::Test {
 protected:
  AskTest() {
    const ParsedSearch search = ParseSearch(job::ParseYaml(kAskedLayouts)->front());
    EXPECT_THAT(search.problems, IsEmpty()) << job::Describe(search.problems);
    spec_ = search.spec;
  }
  Point PointOf(const json& given) const {
    const auto made = FindPoint(spec_, given);
    EXPECT_TRUE(made && !made->cut && made->point.problems.empty());
    return made ? made->point : Point{};
  }
  // The answer to a result; or why it is refused.
  json Told(const json& given, const json& result) const {
    const auto row = ToldRowOf(spec_, PointOf(given), result);
    return row ? AnswerOf(spec_, *row) : json(row.error().message);
  }

  SearchSpec spec_;
};

TEST_F(AskTest, WordsAreValuesOfTheSpaceByTheirTexts) {
  const std::vector<std::string> words = {"tp=4", "recompute=full"};
  EXPECT_EQ(*PointOfWords(spec_, words), json({{"tp", 4}, {"recompute", "full"}}));

  EXPECT_FALSE(PointOfWords(spec_, std::vector<std::string>{"tp"}));
  EXPECT_FALSE(PointOfWords(spec_, std::vector<std::string>{"tp=1", "tp=2"}));
}

TEST_F(AskTest, APointIsThatOfTheGridWithTheSameValues) {
  // Tuners make 4.0 of 4, and need not give what has one value.
  const Point point = PointOf({{"tp", 4.0}, {"recompute", "none"}});

  EXPECT_EQ(point.name, "layers=12 recompute=none tp=4");
  EXPECT_EQ(point.job["command"][3], "4");
  EXPECT_EQ(point.job["folding"]["mode"], "required");
}

TEST_F(AskTest, AnObjectThatIsNoPointIsRefusedWithTheValuesThatThereAre) {
  struct Wrong {
    json given;
    std::string why;
  };
  const Wrong wrongs[] = {
      {{{"tp", 3}, {"recompute", "full"}}, "tp: 3 is none of its values, 1, 2, 4, 8"},
      {{{"tp", "4"}, {"recompute", "full"}}, "tp: '4' is none of its values"},
      {{{"recompute", "full"}}, "tp is required: one of 1, 2, 4, 8"},
      {{{"tpp", 1}}, "'tpp' is not a parameter, did you mean 'tp'?"},
      {json::array({1}), "a point is an object of values by parameter"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto made = FindPoint(spec_, wrong.given);
    ASSERT_FALSE(made) << wrong.given;
    EXPECT_THAT(made.error().message, HasSubstr(wrong.why));
  }
}

TEST_F(AskTest, ACutPointIsAnsweredByTheConstraintThatCutsIt) {
  const auto made = FindPoint(spec_, {{"tp", 8}, {"recompute", "full"}});

  ASSERT_TRUE(made && made->cut);
  const json answer = CutAnswerOf(spec_, *made);
  EXPECT_EQ(answer["verdict"], kCut);
  EXPECT_EQ(answer["why"], "'layers % tp == 0' does not hold");
  EXPECT_EQ(answer["point"]["tp"], 8);
}

TEST_F(AskTest, AToldTimeGivesWhatAReportWouldDeriveFromIt) {
  const json answer = Told({{"tp", 2}, {"recompute", "none"}}, {{"iterationSeconds", 0.5},
                                                                {"iterationSecondsLow", 0.4},
                                                                {"iterationSecondsHigh", 0.8},
                                                                {"peakMemoryBytes", 60},
                                                                {"memoryCapacityBytes", 80}});

  EXPECT_EQ(answer["verdict"], kPredicted);
  EXPECT_EQ(answer["objective"]["value"], 2000);  // 1000 tokens in half a second.
  EXPECT_EQ(answer["objective"]["low"], 1250);
  EXPECT_EQ(answer["objective"]["high"], 2500);
  EXPECT_EQ(answer["row"]["gpus"], 16);
  EXPECT_EQ(answer["row"]["costPerHour"], 32);
  EXPECT_EQ(answer["row"]["memoryHeadroom"], 0.25);
  EXPECT_EQ(answer["row"]["told"], true);
}

TEST_F(AskTest, AMeasurementHasNoBandAndNoMemoryUnlessItIsGiven) {
  const json answer = Told({{"tp", 2}, {"recompute", "none"}}, {{"iterationSeconds", 0.5}});

  EXPECT_EQ(answer["objective"]["low"], answer["objective"]["high"]);
  EXPECT_FALSE(answer["row"].contains("headroomBytes"));
}

TEST_F(AskTest, ToldFailuresHaveTheVerdictsOfFailedJobs) {
  const json point = {{"tp", 2}, {"recompute", "none"}};
  const double gibibyte = 1u << 30;

  EXPECT_EQ(Told(point, {{"failed", "NaN"}})["why"], "Told: NaN");
  const json full = Told(point, {{"outOfMemory", true},
                                 {"neededMemoryBytes", 90 * gibibyte},
                                 {"memoryCapacityBytes", 80 * gibibyte}});
  EXPECT_EQ(full["verdict"], kDoesNotFit);
  EXPECT_EQ(full["why"], "needs 90.0 GiB or more of 80.0 GiB");
  const json excluded = Told({{"tp", 4}, {"recompute", "none"}}, {{"iterationSeconds", 1}});
  EXPECT_EQ(excluded["verdict"], kExcluded);
}

TEST_F(AskTest, AResultThatIsNoneIsRefused) {
  const json point = {{"tp", 2}, {"recompute", "none"}};

  EXPECT_THAT(Told(point, json::object()).get<std::string>(), HasSubstr("/iterationSeconds: is"));
  EXPECT_THAT(Told(point, {{"iterationSeconds", -1}}).get<std::string>(),
              HasSubstr("/iterationSeconds: must be"));
  EXPECT_THAT(Told(point, {{"iterationSecond", 1}}).get<std::string>(),
              HasSubstr("did you mean 'iterationSeconds'?"));
  EXPECT_THAT(Told(point, {{"iterationSeconds", 1}, {"iterationSecondsLow", 2}}).get<std::string>(),
              HasSubstr("must enclose"));
  EXPECT_THAT(Told(point, {{"outOfMemory", true}}).get<std::string>(),
              HasSubstr("/neededMemoryBytes: is required with outOfMemory"));
}

TEST_F(AskTest, ADescriptionHasWhatATunerNeeds) {
  const json described = DescribeSearch(spec_);

  EXPECT_EQ(described["space"]["tp"], json({1, 2, 4, 8}));
  EXPECT_EQ(described["combinations"], 8);
  EXPECT_EQ(described["constraints"], json({"layers % tp == 0"}));
  EXPECT_EQ(described["objective"]["direction"], "maximize");
}

}  // namespace
}  // namespace eidolon::controller::search
