#include "services/machine_code/interpret/float_math.h"

#include <gtest/gtest.h>

#include <limits>

namespace eidolon::interpret {
namespace {

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
