#include "services/contract/ring/unknown_source.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::ring {
namespace {

TEST(UnknownSourceTest, WhatWasJoinedIsSplitAgain) {
  const UnknownSource source{.writer = "reduce_kernel<512, 1>",
                             .pointer = 12,
                             .line = "train.py:40",
                             .given = "float32 0.5"};

  const UnknownSource back = SplitUnknownSource(JoinUnknownSource(source));

  EXPECT_EQ(back.writer, source.writer);
  EXPECT_EQ(back.pointer, 12u);
  EXPECT_EQ(back.line, source.line);
  EXPECT_EQ(back.given, source.given);
}

TEST(UnknownSourceTest, LongTextIsCut) {
  const UnknownSource source{.writer = std::string(5000, 'a'), .line = "b", .given = "zero"};

  const std::string text = JoinUnknownSource(source);

  EXPECT_LE(text.size(), 3 * kUnknownTextMax);
  EXPECT_EQ(SplitUnknownSource(text).line, "b");
}

TEST(UnknownSourceTest, AnyTextIsTaken) {
  EXPECT_EQ(SplitUnknownSource("").writer, "");
  EXPECT_EQ(SplitUnknownSource("kernel").given, "");
  EXPECT_EQ(SplitUnknownSource("k\nx\n\n\n\n").pointer, 0u);
  EXPECT_LE(SplitUnknownSource("k\n99999999999999999999\nl\ng").pointer, 9999u);
}

}  // namespace
}  // namespace eidolon::ring
