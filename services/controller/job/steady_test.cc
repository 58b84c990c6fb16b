#include "services/controller/job/steady.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace eidolon::controller::job {
namespace {

using ::testing::ElementsAre;

IterationWork PlainStep(double length) {
  return {.parts = {.length = length, .compute = length - 0.01, .host = 0.01},
          .matrix_flops = 3'000,
          .updated_bytes = 500,
          .copied_to_host = 1e-6};
}

// Forward passes alone.
void Evaluate(double seconds, IterationWork* work) {
  work->parts.length += seconds;
  work->parts.compute += seconds;
  work->matrix_flops += 1'000;
}

void Save(double seconds, IterationWork* work) {
  work->parts.length += seconds;
  work->parts.host += 0.8 * seconds;
  work->parts.compute += 0.2 * seconds;
  work->copied_to_host += 0.2 * seconds;
}

TEST(SteadyTest, AnEvaluationThatComesBackIsNamedAndPricedAndTheOthersAreSteady) {
  std::vector<IterationWork> steps(200, PlainStep(0.15));
  for (const std::size_t at : {49, 99, 149, 199}) Evaluate(0.5, &steps[at]);

  const Steady steady = FindSteady(steps);

  EXPECT_DOUBLE_EQ(steady.seconds, 0.15);
  EXPECT_EQ(steady.repeating.size(), 196u);
  ASSERT_EQ(steady.extra.size(), 1u);
  EXPECT_EQ(steady.extra[0].what, "evaluation");
  EXPECT_EQ(steady.extra[0].every, 50u);
  EXPECT_EQ(steady.extra[0].times, 4u);
  EXPECT_NEAR(steady.extra[0].seconds, 0.5, 1e-12);
  EXPECT_NEAR(steady.extra[0].per_iteration, 0.01, 1e-12);
}

TEST(SteadyTest, ExtraWorkThatMovesTheMeanByLessThanATenthIsNamedToo) {
  // An evaluation after each tenth step, as of a ResNet: 164.0 ms in the mean, 154.1 without it.
  std::vector<IterationWork> steps(40, PlainStep(0.1541));
  for (std::size_t at = 4; at < steps.size(); at += 10) Evaluate(0.099, &steps[at]);

  const Steady steady = FindSteady(steps);

  EXPECT_NEAR(steady.seconds, 0.1541, 1e-12);
  ASSERT_EQ(steady.extra.size(), 1u);
  EXPECT_EQ(steady.extra[0].every, 10u);
  EXPECT_NEAR(steady.extra[0].per_iteration, 0.0099, 1e-12);
}

TEST(SteadyTest, ThePriceDoesNotDependOnWhereTheMeasuredIterationsEnd) {
  std::vector<IterationWork> steps(35, PlainStep(0.1));
  for (const std::size_t at : {2, 12, 22, 32}) Evaluate(0.2, &steps[at]);

  EXPECT_NEAR(FindSteady(steps).extra.at(0).per_iteration, 0.02, 1e-12);
}

TEST(SteadyTest, CopiesToTheHostAreACheckpointAndBothAreNamedTogether) {
  std::vector<IterationWork> steps(9, PlainStep(0.1));
  Save(1.0, &steps[1]);
  Evaluate(0.3, &steps[4]);
  Save(1.0, &steps[7]);
  Evaluate(0.3, &steps[7]);

  const Steady steady = FindSteady(steps);

  std::vector<std::string> names;
  for (const ExtraWork& extra : steady.extra) names.push_back(extra.what);
  EXPECT_THAT(names, ElementsAre("evaluation and checkpoint", "checkpoint", "evaluation"));
  EXPECT_EQ(steady.extra[0].every, 0u) << "seen once";
  EXPECT_NEAR(steady.extra[0].per_iteration, 1.3 / 9, 1e-12);
}

TEST(SteadyTest, ASlowDiskHidesNoCheckpoint) {
  std::vector<IterationWork> steps(9, PlainStep(0.1));
  steps[4].parts.length += 20;
  steps[4].parts.host += 20;
  steps[4].copied_to_host += 0.1;
  for (IterationWork& step : steps) step.rank_bytes = 1'000'000'000;
  EXPECT_EQ(FindSteady(steps).extra.at(0).what, "checkpoint");
  for (IterationWork& step : steps) step.rank_bytes = 10'000'000'000;
  EXPECT_EQ(FindSteady(steps).extra.at(0).what, "other work of the host") << "not all of them";
}

TEST(SteadyTest, MoreMatrixWorkWithMoreUpdatesIsNoEvaluation) {
  std::vector<IterationWork> steps(9, PlainStep(0.1));
  Evaluate(0.3, &steps[4]);
  steps[4].updated_bytes = 1'000;

  EXPECT_EQ(FindSteady(steps).extra.at(0).what, "other work of the GPU");
}

TEST(SteadyTest, ALongerWaitOfTheHostIsNamedByWhereItsTimeGoes) {
  std::vector<IterationWork> steps(9, PlainStep(0.1));
  steps[3].parts.length += 2;
  steps[3].parts.host += 2;

  EXPECT_EQ(FindSteady(steps).extra.at(0).what, "other work of the host");
}

TEST(SteadyTest, AMedianBetweenTwoKindsOfIterationsIsTheTimeOfNone) {
  // Trainings after one another: ten iterations of one kind, ten of others.
  std::vector<IterationWork> steps;
  for (int i = 0; i < 5; ++i) {
    steps.push_back(PlainStep(0.100));
    steps.push_back(PlainStep(0.101));
  }
  for (const double length : {0.15, 0.15, 0.15, 0.15, 0.15, 0.16, 0.16, 0.16, 0.2, 0.2}) {
    steps.push_back(PlainStep(length));
  }

  const Steady steady = FindSteady(steps);

  EXPECT_DOUBLE_EQ(steady.seconds, 0.1005);
  EXPECT_THAT(steady.repeating, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(steady.alike, 10u);
}

TEST(SteadyTest, WhereNoHalfIsAlikeTheMedianStandsForAllAndFewAreNearIt) {
  std::vector<IterationWork> steps;
  for (const double length : {0.1, 0.1, 0.1, 0.15, 0.17, 0.2, 0.3, 0.3, 0.4})
    steps.push_back(PlainStep(length));

  const Steady steady = FindSteady(steps);

  EXPECT_DOUBLE_EQ(steady.seconds, 0.17);
  EXPECT_EQ(steady.repeating.size(), 9u);
  EXPECT_EQ(steady.alike, 1u);
}

TEST(SteadyTest, JitterAndShortIterationsAreNoExtraWork) {
  std::vector<IterationWork> jitter;
  for (const double length : {0.080, 0.084, 0.088, 0.100, 0.090})
    jitter.push_back(PlainStep(length));
  EXPECT_TRUE(FindSteady(jitter).extra.empty());
  EXPECT_DOUBLE_EQ(FindSteady(jitter).seconds, 0.088);
  std::vector<IterationWork> shorter(9, PlainStep(0.1));
  shorter[3] = PlainStep(0.02);
  EXPECT_TRUE(FindSteady(shorter).extra.empty());
  EXPECT_DOUBLE_EQ(FindSteady(shorter).seconds, 0.1);
  const std::vector<IterationWork> two = {PlainStep(0.08), PlainStep(2)};
  EXPECT_TRUE(FindSteady(two).extra.empty()) << "two iterations cannot show which one repeats";
  const std::vector<IterationWork> one = {PlainStep(0.08)};
  EXPECT_DOUBLE_EQ(FindSteady(one).seconds, 0.08);
}

}  // namespace
}  // namespace eidolon::controller::job
