#include "services/controller/job/unevenness.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::controller::job {
namespace {

std::vector<IterationParts> Iterations(const std::vector<double>& lengths) {
  std::vector<IterationParts> iterations;
  for (const double length : lengths) {
    iterations.push_back({.length = length, .compute = 0.07, .host = length - 0.07});
  }
  return iterations;
}

std::vector<std::size_t> OddOf(const std::vector<double>& lengths) {
  std::vector<std::size_t> odd;
  const auto found = FindUnevenness(Iterations(lengths));
  if (!found) return odd;
  for (const OddIteration& iteration : found->odd) odd.push_back(iteration.position);
  return odd;
}

TEST(UnevennessTest, ACheckpointAmongEqualStepsIsOddAndItsExcessIsTold) {
  auto iterations = Iterations({0.082, 0.082, 2.232, 0.082, 0.084});
  iterations[2].compute = 0.17;
  iterations[2].copies_to_host = 0.09;
  iterations[2].host = 2.062;

  const auto found = FindUnevenness(iterations);

  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->even_mean, 0.0825);
  ASSERT_EQ(found->odd.size(), 1u);
  EXPECT_EQ(found->odd[0].position, 2u);
  EXPECT_DOUBLE_EQ(found->odd[0].seconds, 2.232);
  EXPECT_NEAR(found->odd[0].more.length, 2.15, 1e-12);
  EXPECT_NEAR(found->odd[0].more.compute, 0.1, 1e-12);
  EXPECT_NEAR(found->odd[0].more.copies_to_host, 0.09, 1e-12);
  EXPECT_NEAR(found->odd[0].more.host, 2.0495, 1e-12);
}

TEST(UnevennessTest, SaysNothingOfEvenIterationsAndOfJitter) {
  EXPECT_TRUE(OddOf({}).empty());
  EXPECT_TRUE(OddOf({0.08, 0.08, 0.08}).empty());
  EXPECT_TRUE(OddOf({0.08, 0.08, 0.085, 0.08, 0.08}).empty()) << "less than a tenth";
  EXPECT_TRUE(OddOf({0.080, 0.084, 0.088, 0.100, 0.090}).empty()) << "as wide as the others";
  EXPECT_TRUE(OddOf({0, 0, 0, 0}).empty());
}

TEST(UnevennessTest, TwoIterationsCannotShowIt) { EXPECT_TRUE(OddOf({0.08, 2}).empty()); }

TEST(UnevennessTest, WhatHardlyMovesTheMeanIsNotTold) {
  EXPECT_TRUE(OddOf({2.241, 2.806, 2.22, 2.239, 2.243}).empty());
  std::vector<double> many(100, 0.08);
  many[50] = 0.8;
  EXPECT_TRUE(OddOf(many).empty());
}

TEST(UnevennessTest, ShorterIterationsAreOddToo) {
  EXPECT_EQ(OddOf({0.08, 0.02, 0.08, 0.081}), std::vector<std::size_t>{1});
}

TEST(UnevennessTest, SeveralMayBeOdd) {
  EXPECT_EQ(OddOf({0.08, 1.4, 0.081, 0.082, 1.5}), (std::vector<std::size_t>{1, 4}));
}

TEST(UnevennessTest, HalfAndHalfIsNoOutlier) { EXPECT_TRUE(OddOf({0.08, 1.4, 0.08, 1.4}).empty()); }

}  // namespace
}  // namespace eidolon::controller::job
