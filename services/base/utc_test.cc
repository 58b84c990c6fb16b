#include "services/base/utc.h"

#include <gtest/gtest.h>

namespace eidolon::base {
namespace {

TEST(UtcTest, WritesWholeSeconds) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatUtc(1'795'254'816'999'999'999), "2026-11-21T09:53:36Z");
}

TEST(UtcTest, ReadsBackWhatItWrites) {
  EXPECT_EQ(ParseUtc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseUtc("2026-11-21T09:53:36Z"), 1'795'254'816'000'000'000);
  for (const char* text : {"", "2026-11-21", "2026-11-21T09:53:36", "2026-11-21T9:53:36Z",
                           "2026-02-30T00:00:00Z", "2026-11-21T09:53:36Z "}) {
    EXPECT_EQ(ParseUtc(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace eidolon::base
