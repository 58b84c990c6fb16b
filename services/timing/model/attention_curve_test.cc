#include "services/timing/model/attention_curve.h"

#include <gtest/gtest.h>

namespace eidolon::timing::model {
namespace {

TEST(AttentionCurveTest, GivesItsPoints) {
  const std::vector<AttentionPoint> points = {{512, 300e12}, {2048, 380e12}, {8192, 400e12}};
  const AttentionCurve curve(points);

  for (const AttentionPoint& p : points) EXPECT_NEAR(curve.Rate(p.length) / p.rate, 1, 1e-9);
}

TEST(AttentionCurveTest, TimeGrowsWithLengthAndRatePastTheEndsStaysNear) {
  const AttentionCurve curve({{512, 300e12}, {2048, 380e12}, {8192, 400e12}});
  double last = 0;
  for (double length = 16; length < 1e6; length *= 1.3) {
    const double seconds = length * length / curve.Rate(length);
    EXPECT_GT(seconds, last) << length;
    last = seconds;
  }
  EXPECT_NEAR(curve.Rate(131072) / 400e12, 1, 0.1);
}

}  // namespace
}  // namespace eidolon::timing::model
