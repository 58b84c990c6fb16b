#include "services/base/seconds.h"

#include <gtest/gtest.h>

#include <limits>

namespace eidolon::base {
namespace {

TEST(SecondsTest, HaveFourDigitsAndTheirUnit) {
  EXPECT_EQ(FormatSeconds(12345), "12345 s");
  EXPECT_EQ(FormatSeconds(2.4314), "2.431 s");
  EXPECT_EQ(FormatSeconds(0.0123), "12.30 ms");
  EXPECT_EQ(FormatSeconds(0.00084), "840.0 us");
  EXPECT_EQ(FormatSeconds(2e-12), "0.002 ns");
}

TEST(SecondsTest, WhatIsNotAboveZeroIsNone) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(-1), "0 s");
  EXPECT_EQ(FormatSeconds(std::numeric_limits<double>::quiet_NaN()), "0 s");
}

}  // namespace
}  // namespace eidolon::base
