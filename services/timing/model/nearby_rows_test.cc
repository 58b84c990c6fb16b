#include "services/timing/model/nearby_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace eidolon::timing::model {
namespace {

// A grid of two dimensions with `value(x, y)` on it.
template <typename Value>
NearbyRows Grid(int side, const Value& value) {
  std::vector<float> points;
  std::vector<float> values;
  for (int x = 0; x < side; ++x) {
    for (int y = 0; y < side; ++y) {
      points.push_back(static_cast<float>(x));
      points.push_back(static_cast<float>(y));
      values.push_back(static_cast<float>(value(x, y)));
    }
  }
  return {2, points, values};
}

TEST(NearbyRowsTest, GivesAPointAsItIs) {
  const auto answer = Grid(8, [](double x, double y) { return x * x - y; }).At(std::array{3., 5.});

  EXPECT_TRUE(answer.exact);
  EXPECT_FLOAT_EQ(static_cast<float>(answer.value), 4);
  EXPECT_EQ(answer.distance, 0);
}

TEST(NearbyRowsTest, APlaneGoesOnBetweenPoints) {
  const NearbyRows rows = Grid(8, [](double x, double y) { return 2 + 0.5 * x - 0.25 * y; });
  const auto answer = rows.At(std::array{3.5, 4.25});

  EXPECT_FALSE(answer.exact);
  EXPECT_NEAR(answer.value, 2 + 1.75 - 1.0625, 0.02);
  EXPECT_NEAR(answer.distance, std::hypot(0.5, 0.25), 1e-6);
}

TEST(NearbyRowsTest, AnOutlierMovesLittleAndWidensTheScatter) {
  const auto flat = [](double, double) { return 1.0; };
  const auto spoilt = [](double x, double y) { return x == 3 && y == 3 ? 3.0 : 1.0; };
  const auto clean = Grid(8, flat).At(std::array{3.5, 3.5});
  const auto answer = Grid(8, spoilt).At(std::array{3.5, 3.5});

  EXPECT_NEAR(clean.value, 1, 1e-6);
  // One of the four nearest: the plane tilts, but does not go half of the way.
  EXPECT_LT(answer.value, 1.4);
  EXPECT_GT(answer.scatter, 5 * clean.scatter);
}

TEST(NearbyRowsTest, FewPointsStillAnswer) {
  const NearbyRows one(3, {1, 2, 3}, {0.5F});

  EXPECT_NEAR(one.At(std::array{2., 2., 3.}).value, 0.5, 1e-6);
  EXPECT_EQ(one.size(), 1u);
}

TEST(NearbyRowsTest, FarAwayIsFiniteAndSaysHowFar) {
  const NearbyRows rows = Grid(6, [](double x, double y) { return 0.1 * x * y; });
  const auto answer = rows.At(std::array{40., 2.});

  EXPECT_TRUE(std::isfinite(answer.value));
  EXPECT_NEAR(answer.distance, 35, 1e-4);
}

}  // namespace
}  // namespace eidolon::timing::model
