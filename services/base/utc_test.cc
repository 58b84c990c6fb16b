#include "services/base/utc.h"

#include <gtest/gtest.h>

namespace eidolon::base {
namespace {

TEST(UtcTest, WritesWholeSeconds) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatUtc(1'795'254'816'999'999'999), "2026-11-21T09:53:36Z");
}

}  // namespace
}  // namespace eidolon::base
