#include "services/cli/search_ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "services/controller/job/document.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/search.h"

namespace eidolon::cli {
namespace {

using controller::search::Point;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps rows in memory; a point that is asked for takes as many seconds as its tp says.
class RowsInMemory : public PointRows {
 public:
  base::Result<json> RowFor(const Point& point) override {
    if (rows_.contains(point.name)) return rows_[point.name];
    if (run_.size() == run_max_) return json();
    if (point.values[0].second == broken_) {
      return base::Fail(base::ErrorCode::kUnavailable, "the disk is full");
    }
    run_.push_back(point.name);
    const json prediction = {{"iterationSeconds", {{"mean", point.values[0].second}}}};
    const json job = {{"status", {{"phase", "Complete"}, {"prediction", prediction}}}};
    return rows_[point.name] = controller::search::RowOf(point, job, {});
  }
  base::Result<void> Keep(const json& row) override {
    rows_[row["name"].get<std::string>()] = row;
    return {};
  }

  std::map<std::string, json> rows_;
  std::vector<std::string> run_;
  std::size_t run_max_ = 10;
  json broken_;
};

class SearchAskTest : public ::testing::Test {
 protected:
  SearchAskTest() {
    const auto document = controller::job::ParseYaml(R"(
apiVersion: eidolon.dev/v1alpha1
kind: SimulationSearch
metadata: {name: asked}
spec:
  job: {cluster: {servers: 1, server: {preset: dgx-a100}}, command: [sh, "${tp}"]}
  space: {tp: [1, 2, 4]}
  constraints: [tp < 4]
  objective: {minimize: iterationSeconds}
)");
    spec_ = controller::search::ParseSearch(document->front()).spec;
  }
  std::vector<std::string> Verdicts() const {
    std::vector<std::string> verdicts;
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      verdicts.push_back(json::parse(line)["verdict"].get<std::string>());
    }
    return verdicts;
  }

  controller::search::SearchSpec spec_;
  RowsInMemory rows_;
  std::ostringstream out_;
};

TEST_F(SearchAskTest, EachLineIsAnsweredAndAWrongOneEndsNothing) {
  std::istringstream in("{\"tp\": 2}\n\n{\"tp\": \n{\"tp\": 3}\n{\"tp\": 4}\n{\"tp\": 1}\n");

  const auto status =
      AnswerPoints(spec_, {.point = {}, .lines = true, .result = ""}, in, out_, &rows_);

  EXPECT_EQ(status.value_or(-1), kNoValue);
  EXPECT_THAT(Verdicts(), ElementsAre("predicted", "refused", "refused", "cut", "predicted"));
  EXPECT_THAT(rows_.run_, ElementsAre("tp=2", "tp=1"));
}

TEST_F(SearchAskTest, APointOfTheFlagsIsRunOnce) {
  std::istringstream in;
  const AskFlags flags = {.point = {"tp=2"}, .lines = false, .result = ""};

  EXPECT_EQ(AnswerPoints(spec_, flags, in, out_, &rows_).value_or(-1), 0);
  EXPECT_EQ(AnswerPoints(spec_, flags, in, out_, &rows_).value_or(-1), 0);

  EXPECT_THAT(rows_.run_, ElementsAre("tp=2"));
  EXPECT_EQ(Verdicts().size(), 2u);
}

TEST_F(SearchAskTest, ASpentBudgetIsAnAnswer) {
  rows_.run_max_ = 1;
  std::istringstream in("{\"tp\": 1}\n{\"tp\": 2}\n{\"tp\": 1}\n");

  EXPECT_EQ(AnswerPoints(spec_, {.point = {}, .lines = true, .result = ""}, in, out_, &rows_)
                .value_or(-1),
            kNoValue);

  EXPECT_THAT(Verdicts(), ElementsAre("predicted", "not tried", "predicted"));
}

TEST_F(SearchAskTest, AToldResultIsThatOfThePointFromThenOn) {
  std::istringstream told("{\"point\": {\"tp\": 1}, \"iterationSeconds\": 7}\n{\"tp\": 2}\n");
  std::istringstream asked("{\"tp\": 1}\n");
  const AskFlags lines = {.point = {}, .lines = true, .result = ""};

  EXPECT_EQ(TakeResults(spec_, lines, told, out_, &rows_).value_or(-1), kNoValue);
  EXPECT_EQ(AnswerPoints(spec_, lines, asked, out_, &rows_).value_or(-1), 0);

  EXPECT_THAT(Verdicts(), ElementsAre("predicted", "refused", "predicted"));
  EXPECT_THAT(out_.str(), HasSubstr("\"value\":7.0"));
  EXPECT_TRUE(rows_.run_.empty());
}

TEST_F(SearchAskTest, AResultOfAFailureIsTaken) {
  std::istringstream in;

  const auto status =
      TakeResults(spec_, {.point = {"tp=1"}, .lines = false, .result = R"({"failed": "NaN"})"}, in,
                  out_, &rows_);

  EXPECT_EQ(status.value_or(-1), 0);
  EXPECT_THAT(Verdicts(), ElementsAre("failed"));
}

TEST_F(SearchAskTest, WhatIsNoneOfThePointsEndsTheDialogue) {
  rows_.broken_ = 2;
  std::istringstream in("{\"tp\": 1}\n{\"tp\": 2}\n{\"tp\": 1}\n");

  const auto status =
      AnswerPoints(spec_, {.point = {}, .lines = true, .result = ""}, in, out_, &rows_);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the disk is full");
  EXPECT_EQ(Verdicts().size(), 1u);
}

}  // namespace
}  // namespace eidolon::cli
