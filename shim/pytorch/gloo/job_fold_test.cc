#include "shim/pytorch/gloo/job_fold.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::shim::gloo {
namespace {

TEST(JobFoldTest, RanksDimensionsAndLiveRanksAreRead) {
  const auto fold = ReadFold("16 4:2 8:2", "0,3,4,8,12,15");

  ASSERT_TRUE(fold.has_value()) << fold.error().message;
  EXPECT_EQ(fold->ranks(), 16u);
  EXPECT_EQ(fold->classes(), 4u);
  EXPECT_EQ(fold->live(), (std::vector<std::uint32_t>{0, 3, 4, 8, 12, 15}));
}

TEST(JobFoldTest, WhatIsNoFoldIsRefused) {
  for (const char* text : {"", "x", "4:2", "16 4", "16 0:2", "-1"}) {
    EXPECT_FALSE(ReadFold(text, "0").has_value()) << text;
  }
  EXPECT_FALSE(ReadFold("4", "0,x").has_value());
  EXPECT_FALSE(ReadFold("4", "0,4").has_value());
}

}  // namespace
}  // namespace eidolon::shim::gloo
