#include "services/controller/search/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kGibibyte = 1u << 30;

Point PointOf(int tp) {
  return {.values = {{"tp", tp}}, .name = "tp=" + std::to_string(tp), .job = {}, .problems = {}};
}

// A job that is complete, in so many seconds and with so much memory of 80 GiB.
json CompleteJob(double seconds, double gibibytes) {
  return {
      {"status",
       {{"phase", "Complete"},
        {"conditions", {{{"type", "Complete"}, {"status", "True"}, {"reason", "Done"}}}},
        {"prediction",
         {{"iterationSeconds", {{"mean", seconds}}},
          {"steadyIteration",
           {{"seconds", seconds}, {"low", seconds * 0.95}, {"high", seconds * 1.05}, {"count", 5}}},
          {"tokensPerSecond", 1000 / seconds},
          {"target",
           {{"servers", 8}, {"cluster", {{"server", {{"gpu", "A100"}, {"gpusPerServer", 8}}}}}}},
          {"memory",
           {{"peakReservedBytes", gibibytes * kGibibyte}, {"capacityBytes", 80 * kGibibyte}}}}}}}};
}

json JobWithoutMemory() {
  return {
      {"status",
       {{"phase", "Failed"},
        {"conditions",
         {{{"type", "Failed"}, {"status", "True"}, {"reason", "OutOfMemory"}, {"message", "m"}}}},
        {"prediction",
         {{"memory",
           {{"peakReservedBytes", 78 * kGibibyte},
            {"capacityBytes", 80 * kGibibyte},
            {"refusedBytes", 6 * kGibibyte}}}}}}}};
}

json FailedJob() {
  return {{"status",
           {{"phase", "Failed"},
            {"conditions",
             {{{"type", "Failed"},
               {"status", "True"},
               {"reason", "CommandFailed"},
               {"message", "exit 3"}}}}}}};
}

class OutcomeTest : public ::testing::Test {
 protected:
  OutcomeTest() { spec_.objective.field = "tokensPerSecond"; }

  void Add(int tp, const json& job) {
    grid_.points.push_back(PointOf(tp));
    findings_.rows.push_back(RowOf(grid_.points.back(), job, spec_));
  }
  // "tp=1 best" of each row, in the table's order.
  std::vector<std::string> Judged() {
    JudgeRows(spec_, &findings_.rows);
    std::vector<std::string> texts;
    for (const json& row : findings_.rows) {
      texts.push_back(row["name"].get<std::string>() + " " + row["verdict"].get<std::string>());
    }
    return texts;
  }
  std::string WhyOf(const std::string& name) {
    for (const json& row : findings_.rows) {
      if (row["name"] == name) return row["why"];
    }
    return "";
  }

  SearchSpec spec_;
  Grid grid_;
  Findings findings_ = {.spec = spec_, .grid = grid_, .rows = {}, .not_tried = {}};
};

TEST_F(OutcomeTest, BandsDecideWhatCannotBeToldApartFromTheBest) {
  Add(1, CompleteJob(2, 40));
  Add(2, CompleteJob(1.08, 40));  // 1.026 at best, where the best one takes 1.05 at worst.
  Add(4, CompleteJob(1, 40));

  EXPECT_THAT(Judged(), ElementsAre("tp=4 best", "tp=2 cannot be told apart", "tp=1 slower"));
  EXPECT_EQ(WhyOf("tp=1"), "-50.0 %");
  EXPECT_EQ(SummaryOf(findings_),
            "Best is tp=4: 1.000 s an iteration; 1 other cannot be told apart from it: tp=2.");
}

TEST_F(OutcomeTest, APointWithoutEnoughMemoryIsAnAnswerThatSaysWhatItNeeds) {
  Add(1, JobWithoutMemory());
  Add(2, CompleteJob(1, 81));
  Add(4, CompleteJob(1, 40));

  EXPECT_THAT(Judged(), ElementsAre("tp=4 best", "tp=1 does not fit", "tp=2 does not fit"));
  EXPECT_EQ(WhyOf("tp=1"), "needs 84.0 GiB or more of 80.0 GiB");
  EXPECT_EQ(WhyOf("tp=2"), "needs 81.0 GiB of 80.0 GiB");
}

TEST_F(OutcomeTest, AFailureStaysAFailureWithItsReason) {
  Add(1, FailedJob());
  Add(2, CompleteJob(1, 40));

  EXPECT_THAT(Judged(), ElementsAre("tp=2 best", "tp=1 failed"));
  EXPECT_EQ(WhyOf("tp=1"), "CommandFailed: exit 3");
  EXPECT_THAT(SummaryOf(findings_), HasSubstr("no other point lies within its band."));
}

TEST_F(OutcomeTest, AConditionExcludesThePointThatWouldBeBest) {
  spec_.objective.subject_to.push_back(*Expression::Parse("memoryHeadroom >= 0.05 or tp > 4"));
  Add(1, CompleteJob(1, 79));
  Add(2, CompleteJob(3, 40));

  EXPECT_THAT(Judged(), ElementsAre("tp=2 best", "tp=1 excluded"));
  EXPECT_THAT(WhyOf("tp=1"), HasSubstr("does not hold: memoryHeadroom is 0.0125"));
}

TEST_F(OutcomeTest, CostFollowsTheBandOfTheTimeAndMemoryHasNone) {
  spec_.prices = {{"A100", 2}};
  spec_.objective = {.maximize = false, .field = "costPerUnit", .subject_to = {}};
  Add(1, CompleteJob(1, 40));
  Add(2, CompleteJob(1.05, 39));
  EXPECT_THAT(Judged(), ElementsAre("tp=1 best", "tp=2 cannot be told apart"));

  spec_.objective.field = "peakMemoryBytes";
  EXPECT_THAT(Judged(), ElementsAre("tp=2 best", "tp=1 worse"));
}

TEST_F(OutcomeTest, AReportWithoutTheObjectiveSaysHowToGetIt) {
  json job = CompleteJob(1, 40);
  job["status"]["prediction"].erase("tokensPerSecond");
  Add(1, job);

  EXPECT_THAT(Judged(), ElementsAre("tp=1 failed"));
  EXPECT_THAT(WhyOf("tp=1"), HasSubstr("declare job.iterations.tokens"));
  EXPECT_EQ(BestOf(findings_), nullptr);
  EXPECT_THAT(SummaryOf(findings_), HasSubstr("No point can be chosen: 0 do not fit"));
}

TEST_F(OutcomeTest, ASpentBudgetNamesWhatWasNotTried) {
  Add(1, CompleteJob(1, 40));
  Judged();
  findings_.not_tried = {"tp=2", "tp=4"};

  EXPECT_THAT(SummaryOf(findings_),
              HasSubstr("2 points were not tried, because the budget is spent: tp=2; tp=4."));
  const json document = ToJson(findings_);
  EXPECT_EQ(document["notTried"], json({"tp=2", "tp=4"}));
  EXPECT_EQ(document["best"]["point"]["tp"], 1);
}

TEST_F(OutcomeTest, ASlowerPointSaysWhichOneBeatsItAndByWhat) {
  Add(1, CompleteJob(2, 40));
  Add(2, CompleteJob(1, 40));
  Judged();

  const json& slower = findings_.rows.back();
  EXPECT_EQ(slower["lostTo"], "tp=2");
  EXPECT_DOUBLE_EQ(slower["bestCase"], 500 / 0.95);
  EXPECT_DOUBLE_EQ(slower["winnersWorstCase"], 1000 / 1.05);
  EXPECT_FALSE(findings_.rows.front().contains("lostTo"));
}

TEST_F(OutcomeTest, ADroppedPointIsNeverTheBestAndSaysWhatItLostTo) {
  json running = CompleteJob(2, 40);
  running["status"]["phase"] = "Running";
  running["status"]["prediction"]["measuredIterations"] = 1;
  running["status"]["prediction"].erase("memory");  // A job that runs does not say it.
  spec_.objective.subject_to.push_back(*Expression::Parse("memoryHeadroom >= 0.05"));
  grid_.points.push_back(PointOf(1));
  findings_.rows.push_back(PartialRowOf(grid_.points.back(), running, spec_));
  EXPECT_FALSE(IsCandidate(spec_, findings_.rows.back()));
  Add(2, CompleteJob(1, 40));

  EXPECT_THAT(Judged(), ElementsAre("tp=2 best", "tp=1 dropped"));
  EXPECT_EQ(WhyOf("tp=1"),
            "after 1 iteration at best 526.316 tokensPerSecond, where tp=2 has 952.381 at worst");
  EXPECT_THAT(SummaryOf(findings_), HasSubstr("; 1 was dropped early."));
}

TEST_F(OutcomeTest, EqualPointsAreInTheOrderOfTheGrid) {
  for (const int tp : {4, 1, 2}) Add(tp, CompleteJob(1, 40));

  EXPECT_THAT(Judged(),
              ElementsAre("tp=4 best", "tp=1 cannot be told apart", "tp=2 cannot be told apart"));
}

}  // namespace
}  // namespace eidolon::controller::search
