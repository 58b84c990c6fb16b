#include "services/timing/model/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eidolon::timing::model {
namespace {

const std::vector<GaussianProcess::Point> kPoints = {{0, 0}, {1, 0}, {2, 0}, {3, 0},
                                                     {0, 1}, {1, 1}, {2, 1}, {3, 1}};

std::vector<double> Waves() {
  std::vector<double> values;
  for (const auto& p : kPoints) values.push_back(std::sin(p[0]));
  return values;
}

TEST(GaussianProcessTest, PassesThroughItsPointsWithoutNoise) {
  const auto process =
      *GaussianProcess::Fit(kPoints, Waves(), {.length = {2, 5}, .signal = 1, .noise = 1e-4});

  for (const auto& p : kPoints) EXPECT_NEAR(process.Predict(p), std::sin(p[0]), 1e-3);
  EXPECT_NEAR(process.Predict({1.5, 0.5}), std::sin(1.5), 0.05);
}

TEST(GaussianProcessTest, RefusesAMatrixThatCannotBeFactored) {
  EXPECT_FALSE(GaussianProcess::Fit({{0}, {0}}, {1, 2}, {.length = {1}, .signal = 1, .noise = 0}));
}

TEST(GaussianProcessTest, FindsThatACoordinateDoesNotMatter) {
  const GaussianScales scales =
      FitScales(kPoints, Waves(), {.length = {1, 1}, .signal = 1, .noise = 0.1}, 200);

  EXPECT_GT(scales.length[1], 3 * scales.length[0]);
  EXPECT_LT(scales.noise, 0.05);
}

}  // namespace
}  // namespace eidolon::timing::model
