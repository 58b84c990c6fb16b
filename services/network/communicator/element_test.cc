#include "services/network/communicator/element.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

TEST(ElementTest, EveryFiniteNumberSurvivesEncoding) {
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

TEST(ElementTest, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(Encode(kHalf, 1.0 + 1.0 / 2048), 0x3c00);      // Tie: even below.
  EXPECT_EQ(Encode(kHalf, 1.0 + 3.0 / 2048), 0x3c02);      // Tie: even above.
  EXPECT_EQ(Encode(kHalf, 65519.0), 0x7bff);               // Largest.
  EXPECT_EQ(Encode(kHalf, 65520.0), 0x7c00);               // Rounds to infinity.
  EXPECT_EQ(Encode(kHalf, std::ldexp(1.0, -25)), 0x0000);  // Tie with zero.
  EXPECT_EQ(Encode(kHalf, std::ldexp(1.1, -25)), 0x0001);  // Least subnormal.
  EXPECT_EQ(Encode(kBrain, 1.0), 0x3f80);
  EXPECT_EQ(Encode(kBrain, -2.5), 0xc020);
}

TEST(ElementTest, EightBitFormatsSaturate) {
  EXPECT_EQ(Decode(kE4m3, 0x7e), 448);
  EXPECT_EQ(Encode(kE4m3, 1e9), 0x7e);
  EXPECT_EQ(Encode(kE4m3, -INFINITY), 0xfe);
  EXPECT_EQ(Encode(kE5m2, 1e9), 0x7b);
  EXPECT_TRUE(std::isnan(Decode(kE4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(Decode(kE5m2, Encode(kE5m2, std::nan("")))));
  EXPECT_TRUE(std::isinf(Decode(kE5m2, 0x7c)));
}

TEST(ElementTest, BrainFloatsAreTruncatedFloats) {
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const float value = std::bit_cast<float>(bits << 16);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Decode(kBrain, static_cast<std::uint16_t>(bits)), static_cast<double>(value));
  }
}

TEST(ElementTest, KnowsSizesAndNames) {
  EXPECT_EQ(ElementBytes(kFloat8E4m3), 1u);
  EXPECT_EQ(ElementBytes(12), 0u);
  EXPECT_EQ(ElementName(kBfloat16), "bfloat16");
}

}  // namespace
}  // namespace eidolon::network::communicator
