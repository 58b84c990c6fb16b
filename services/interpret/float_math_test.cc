#include "services/interpret/float_math.h"

#include <gtest/gtest.h>

#include <limits>

namespace eidolon::interpret {
namespace {

TEST(FloatMathTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool nan = (half & 0x7fff) > 0x7c00;
    EXPECT_EQ(DoubleToHalf(static_cast<double>(HalfToFloat(half))), nan ? 0x7fff : half);
  }
}

TEST(FloatMathTest, EveryBfloatSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto bfloat = static_cast<std::uint16_t>(bits);
    const bool nan = (bfloat & 0x7fff) > 0x7f80;
    EXPECT_EQ(DoubleToBfloat(static_cast<double>(BfloatToFloat(bfloat))), nan ? 0x7fff : bfloat);
  }
}

TEST(FloatMathTest, HalvesRoundToTheNearestEvenOne) {
  EXPECT_EQ(DoubleToHalf(2049), DoubleToHalf(2048));
  EXPECT_EQ(DoubleToHalf(2051), DoubleToHalf(2052));
  EXPECT_EQ(DoubleToHalf(65519), 0x7bff);
  EXPECT_EQ(DoubleToHalf(65520), 0x7c00);
  EXPECT_EQ(DoubleToHalf(65520, true), 0x7bff);
  EXPECT_EQ(DoubleToHalf(0x1p-25), 0);
  EXPECT_EQ(DoubleToHalf(0x1.8p-25), 1);
  EXPECT_EQ(DoubleToBfloat(3.4e38), 0x7f80);
}

TEST(FloatMathTest, RoundsInTheDirectionAskedFor) {
  const float third = 1.0f / 3;
  EXPECT_LT(Multiply(third, third, Rounding::kDown), Multiply(third, third, Rounding::kUp));
  EXPECT_LT(Add(1.0f, 0x1p-30f, Rounding::kZero), Add(1.0f, 0x1p-30f, Rounding::kUp));
  EXPECT_EQ(Add(1.0f, 0x1p-30f, Rounding::kNearest), 1.0f);
  EXPECT_EQ(Narrow(1 + 0x1p-30, Rounding::kUp), 1 + 0x1p-23f);
}

TEST(FloatMathTest, ComparesNansByTheUpperCodes) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr std::uint64_t kEqual = 2;
  constexpr std::uint64_t kNotEqualOrNan = 13;
  EXPECT_FALSE(CompareFloat(kEqual, kNone, 1.0f));
  EXPECT_TRUE(CompareFloat(kNotEqualOrNan, kNone, 1.0f));
  EXPECT_TRUE(CompareFloat(kEqual, 1.0f, 1.0f));
}

TEST(FloatMathTest, TheSmallerOfANumberAndANanIsTheNumber) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Extreme(kNone, 2, true, false), 2);
  EXPECT_TRUE(std::isnan(Extreme(kNone, 2, true, true)));
  EXPECT_TRUE(std::signbit(Extreme(0.0f, -0.0f, true, false)));
}

}  // namespace
}  // namespace eidolon::interpret
