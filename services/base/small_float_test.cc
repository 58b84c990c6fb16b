#include "services/base/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace eidolon::base {
namespace {

TEST(SmallFloatTest, EveryFiniteNumberSurvivesEncoding) {
  struct Case {
    SmallFloat format;
    int bits;
  };
  for (const Case& row : {Case{kHalf, 16}, Case{kBrain, 16}, Case{kE4m3, 8}, Case{kE5m2, 8}}) {
    for (std::uint32_t bits = 0; bits < 1u << row.bits; ++bits) {
      const double value = Decode(row.format, static_cast<std::uint16_t>(bits));
      if (!std::isfinite(value)) continue;
      ASSERT_EQ(Encode(row.format, value), bits) << row.bits << " bits, " << value;
    }
  }
}

TEST(SmallFloatTest, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(Encode(kHalf, 1.0 + 1.0 / 2048), 0x3c00);      // Tie: even below.
  EXPECT_EQ(Encode(kHalf, 1.0 + 3.0 / 2048), 0x3c02);      // Tie: even above.
  EXPECT_EQ(Encode(kHalf, 65519.0), 0x7bff);               // Largest.
  EXPECT_EQ(Encode(kHalf, 65520.0), 0x7c00);               // Rounds to infinity.
  EXPECT_EQ(Encode(kHalf, std::ldexp(1.0, -25)), 0x0000);  // Tie with zero.
  EXPECT_EQ(Encode(kHalf, std::ldexp(1.1, -25)), 0x0001);  // Least subnormal.
  EXPECT_EQ(Encode(kBrain, 1.0), 0x3f80);
  EXPECT_EQ(Encode(kBrain, -2.5), 0xc020);
}

TEST(SmallFloatTest, EightBitFormatsSaturate) {
  EXPECT_EQ(Decode(kE4m3, 0x7e), 448);
  EXPECT_EQ(Encode(kE4m3, 1e9), 0x7e);
  EXPECT_EQ(Encode(kE4m3, -INFINITY), 0xfe);
  EXPECT_EQ(Encode(kE5m2, 1e9), 0x7b);
  EXPECT_TRUE(std::isnan(Decode(kE4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(Decode(kE5m2, Encode(kE5m2, std::nan("")))));
  EXPECT_TRUE(std::isinf(Decode(kE5m2, 0x7c)));
}

TEST(SmallFloatTest, BrainFloatsAreTruncatedFloats) {
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const float value = std::bit_cast<float>(bits << 16);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Decode(kBrain, static_cast<std::uint16_t>(bits)), static_cast<double>(value));
  }
}

TEST(SmallFloatTest, TheQuickFormsAgreeWithTheGeneralOne) {
  for (std::uint32_t number = 0; number < 0x10000; ++number) {
    const auto bits = static_cast<std::uint16_t>(number);
    const double half = Decode(kHalf, bits), brain = Decode(kBrain, bits);
    if (!std::isnan(half)) {
      ASSERT_EQ(static_cast<double>(HalfToFloat(bits)), half);
      ASSERT_EQ(DoubleToHalf(half), Encode(kHalf, half));
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(static_cast<double>(BfloatToFloat(bits)), brain);
      ASSERT_EQ(DoubleToBfloat(brain), Encode(kBrain, brain));
    }
  }
}

TEST(SmallFloatTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool nan = (half & 0x7fff) > 0x7c00;
    EXPECT_EQ(DoubleToHalf(static_cast<double>(HalfToFloat(half))), nan ? 0x7fff : half);
  }
}

TEST(SmallFloatTest, EveryBfloatSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto bfloat = static_cast<std::uint16_t>(bits);
    const bool nan = (bfloat & 0x7fff) > 0x7f80;
    EXPECT_EQ(DoubleToBfloat(static_cast<double>(BfloatToFloat(bfloat))), nan ? 0x7fff : bfloat);
  }
}

TEST(SmallFloatTest, HalvesRoundToTheNearestEvenOne) {
  EXPECT_EQ(DoubleToHalf(2049), DoubleToHalf(2048));
  EXPECT_EQ(DoubleToHalf(2051), DoubleToHalf(2052));
  EXPECT_EQ(DoubleToHalf(65519), 0x7bff);
  EXPECT_EQ(DoubleToHalf(65520), 0x7c00);
  EXPECT_EQ(DoubleToHalf(65520, true), 0x7bff);
  EXPECT_EQ(DoubleToHalf(0x1p-25), 0);
  EXPECT_EQ(DoubleToHalf(0x1.8p-25), 1);
  EXPECT_EQ(DoubleToBfloat(3.4e38), 0x7f80);
}

}  // namespace
}  // namespace eidolon::base
