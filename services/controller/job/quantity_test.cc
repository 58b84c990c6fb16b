#include "services/controller/job/quantity.h"

#include <gtest/gtest.h>

namespace eidolon::controller::job {
namespace {

TEST(QuantityTest, ReadsBinaryAndDecimalSuffixes) {
  EXPECT_EQ(ParseBytes("16Gi"), 17179869184u);
  EXPECT_EQ(ParseBytes("1.5Ki"), 1536u);
  EXPECT_EQ(ParseBytes("500M"), 500'000'000u);
  EXPECT_EQ(ParseBytes("1024"), 1024u);
  EXPECT_EQ(ParseBytes("0"), 0u);
}

TEST(QuantityTest, RefusesEverythingElse) {
  for (const char* bad : {"", "Gi", "-1Gi", "16GiB", "16 Gi", "1.5", "9999999999T", "nan"}) {
    EXPECT_FALSE(ParseBytes(bad)) << bad;
  }
}

}  // namespace
}  // namespace eidolon::controller::job
