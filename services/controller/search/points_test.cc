#include "services/controller/search/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eidolon::controller::search {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A job on servers of 8 GPUs, with tp and pp to choose.
SearchSpec Layouts(const std::vector<std::string>& constraints) {
  SearchSpec spec;
  spec.job = {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-a100"}}}}},
              {"command", {"torchrun", "--tensor=${tp}", "${pp}", "$${HOME}"}},
              {"env", {{{"name", "PP"}, {"value", "${pp}"}}}}};
  spec.space = {{"pp", {1, 2, 3}}, {"tp", {4, 8, 16}}};
  for (const std::string& text : constraints) {
    spec.constraints.push_back(*Expression::Parse(text));
  }
  return spec;
}

std::vector<std::string> NamesIn(const Grid& grid) {
  std::vector<std::string> names;
  for (const Point& point : grid.points) names.push_back(point.name);
  return names;
}

TEST(PointsTest, ConstraintsCutAndEachCutCountsForTheFirst) {
  job::Problems problems;
  const Grid grid = MakeGrid(
      Layouts({"tp <= gpusPerServer", "world % (tp * pp) == 0", "servers == 2"}), &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(grid.combinations, 9u);
  EXPECT_EQ(grid.cuts[0].points, 3u);  // tp=16, whatever pp is.
  EXPECT_EQ(grid.cuts[1].points, 2u);  // pp=3.
  EXPECT_EQ(grid.cuts[2].points, 0u);
  EXPECT_THAT(NamesIn(grid), ElementsAre("pp=1 tp=4", "pp=1 tp=8", "pp=2 tp=4", "pp=2 tp=8"));
}

TEST(PointsTest, WordsAndVariablesAreFilledInAsTexts) {
  job::Problems problems;
  const Grid grid = MakeGrid(Layouts({}), &problems);

  const json& job = grid.points.back().job;
  EXPECT_EQ(job["command"], json({"torchrun", "--tensor=16", "3", "${HOME}"}));
  EXPECT_EQ(job["env"][0]["value"], "3");
}

TEST(PointsTest, AFieldOfTheClusterTakesTheTypeOfTheValue) {
  SearchSpec spec = Layouts({"world == 16"});
  spec.job["cluster"]["servers"] = "${pp}";
  spec.job["cluster"]["server"] = {{"gpu", "A100-${tp}GB"}, {"gpusPerServer", 8}};
  job::Problems problems;

  const Grid grid = MakeGrid(spec, &problems);

  EXPECT_THAT(problems, IsEmpty());
  ASSERT_THAT(NamesIn(grid), ElementsAre("pp=2 tp=4", "pp=2 tp=8", "pp=2 tp=16"));
  EXPECT_EQ(grid.points[0].job["cluster"]["servers"], 2);
  EXPECT_EQ(grid.points[0].job["cluster"]["server"]["gpu"], "A100-4GB");
}

TEST(PointsTest, PointsRunFoldedUnlessTheJobSaysOtherwise) {
  job::Problems problems;
  SearchSpec spec = Layouts({});
  EXPECT_EQ(MakeGrid(spec, &problems).points[0].job["folding"]["mode"], "required");

  spec.job["folding"] = {{"mode", "off"}};
  EXPECT_EQ(MakeGrid(spec, &problems).points[0].job["folding"]["mode"], "off");
}

TEST(PointsTest, ACombinationThatIsNoJobIsAPointAndNotAnError) {
  SearchSpec spec = Layouts({"tp == 4"});
  spec.job["ranksPerServer"] = "${pp}";
  spec.space[0].second = {1, 9};
  job::Problems problems;

  const Grid grid = MakeGrid(spec, &problems);

  EXPECT_THAT(problems, IsEmpty());
  ASSERT_THAT(NamesIn(grid), ElementsAre("pp=1 tp=4", "pp=9 tp=4"));
  EXPECT_THAT(grid.points[0].problems, IsEmpty());
  EXPECT_THAT(job::Describe(grid.points[1].problems), HasSubstr("a server has 8 GPU(s)"));
}

TEST(PointsTest, WhatIsWrongWithEveryPointIsWrongWithTheSearch) {
  SearchSpec spec = Layouts({});
  spec.job["iterations"] = {{"warmup", -1}};
  job::Problems problems;
  MakeGrid(spec, &problems);

  EXPECT_THAT(job::Describe(problems), HasSubstr("/spec/job/iterations/warmup: "));
}

TEST(PointsTest, AConstraintThatCannotBeEvaluatedIsAProblemAtItsPlace) {
  SearchSpec spec = Layouts({"tp > 0", "tp % (pp - 1) == 0"});
  job::Problems problems;
  MakeGrid(spec, &problems);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/constraints/1");
  EXPECT_THAT(problems[0].detail, HasSubstr("for pp=1 tp=4: 4 % 0 divides by zero"));
}

TEST(PointsTest, AGridWithoutAPointNamesWhatHasCutIt) {
  job::Problems problems;
  MakeGrid(Layouts({"tp == 8", "pp > 3"}), &problems);

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/constraints");
  EXPECT_THAT(problems[0].detail,
              HasSubstr("cut all 9 combinations: 6 by 'tp == 8', 3 by 'pp > 3'"));
}

}  // namespace
}  // namespace eidolon::controller::search
