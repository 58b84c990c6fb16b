#include "services/timing/model/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eidolon::timing::model {
namespace {

const std::vector<GaussianPoint> kPoints = {{0, 0}, {1, 0}, {2, 0}, {3, 0},
                                            {0, 1}, {1, 1}, {2, 1}, {3, 1}};

GaussianData Waves() {
  GaussianData data;
  data.points = kPoints;
  for (const auto& p : kPoints) data.values.push_back(std::sin(p[0]));
  return data;
}

TEST(GaussianProcessTest, PassesThroughItsPointsWithoutNoise) {
  const auto process =
      *GaussianProcess::Fit(Waves(), {.length = {2, 5}, .signal = 1, .noise = 1e-4});

  for (const auto& p : kPoints) EXPECT_NEAR(process.Predict(p), std::sin(p[0]), 1e-3);
  EXPECT_NEAR(process.Predict({1.5, 0.5}), std::sin(1.5), 0.05);
}

TEST(GaussianProcessTest, RefusesAMatrixThatCannotBeFactored) {
  const GaussianData twice = {.points = {{0}, {0}}, .values = {1, 2}};
  EXPECT_FALSE(GaussianProcess::Fit(twice, {.length = {1}, .signal = 1, .noise = 0}));
}

TEST(GaussianProcessTest, PassesByALooseValue) {
  GaussianData data = Waves();
  data.looseness.assign(kPoints.size(), 0);
  data.values[2] += 0.5;
  data.looseness[2] = 1;
  const auto process =
      *GaussianProcess::Fit(data, {.length = {2, 5}, .signal = 1, .noise = 0.01, .loose_noise = 2});

  EXPECT_NEAR(process.Predict(kPoints[2]), std::sin(2), 0.1);
  EXPECT_NEAR(process.Predict(kPoints[1]), std::sin(1), 0.02);
}

TEST(GaussianProcessTest, SaysHowTheLikelihoodMovesWithEachScale) {
  GaussianData data = Waves();
  data.looseness = {0, 0.5, 1, 0, 0.2, 0, 0, 1};
  for (const bool rough : {false, true}) {
    GaussianScales scales = {
        .rough = rough, .length = {1.3, 4}, .signal = 0.8, .noise = 0.1, .loose_noise = 0.2};
    auto process = *GaussianProcess::Fit(data, scales);
    process.Differentiate();

    double* const all[] = {&scales.length[0], &scales.length[1], &scales.signal, &scales.noise,
                           &scales.loose_noise};
    for (std::size_t i = 0; i < 5; ++i) {
      constexpr double kStep = 1e-5;
      const double kept = *all[i];
      *all[i] = kept * std::exp(kStep);
      const double above = GaussianProcess::Fit(data, scales)->log_likelihood();
      *all[i] = kept * std::exp(-kStep);
      const double below = GaussianProcess::Fit(data, scales)->log_likelihood();
      *all[i] = kept;
      EXPECT_NEAR(process.gradient()[i], (above - below) / (2 * kStep), 1e-4) << i << rough;
    }
  }
}

TEST(GaussianProcessTest, ForetellsEachValueFromTheOthers) {
  const GaussianScales scales = {.length = {2, 5}, .signal = 1, .noise = 0.1};
  auto process = *GaussianProcess::Fit(Waves(), scales);
  process.Differentiate();

  // The data are the values less the mean of all of them, which stays known.
  GaussianData others = Waves();
  double mean = 0;
  for (const double value : others.values) mean += value / static_cast<double>(kPoints.size());
  for (double& value : others.values) value -= mean;
  const double own = others.values[3];
  others.values.erase(others.values.begin() + 3);
  others.points.erase(others.points.begin() + 3);
  double rest = 0;  // Of the others, which the process takes off and adds again.
  for (const double value : others.values) rest += value / 7;
  const auto without = *GaussianProcess::Fit(others, scales);
  EXPECT_NEAR(process.left_out()[3], without.Predict(kPoints[3]) - own, std::abs(rest));
}

TEST(GaussianProcessTest, FindsThatACoordinateDoesNotMatter) {
  const GaussianPrior prior = {{.length = {1, 1}, .signal = 1, .noise = 0.1},
                               {.length = {2, 2}, .signal = 2, .noise = 2}};
  const GaussianScales scales = FitScales(Waves(), prior, 200);

  EXPECT_GT(scales.length[1], 3 * scales.length[0]);
  EXPECT_LT(scales.noise, 0.05);
}

TEST(GaussianProcessTest, KeepsToWhatWasThoughtWhereValuesSayLittle) {
  const GaussianScales middle = {.length = {2, 3}, .signal = 1, .noise = 0.1};
  const GaussianScales sure = {.length = {1e-3, 1e-3}, .signal = 1e-3, .noise = 1e-3};
  const GaussianScales scales = FitScales(Waves(), {middle, sure}, 200);

  EXPECT_NEAR(scales.length[0], 2, 0.02);
  EXPECT_NEAR(scales.noise, 0.1, 0.001);
}

}  // namespace
}  // namespace eidolon::timing::model
