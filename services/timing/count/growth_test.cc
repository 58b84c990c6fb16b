#include "services/timing/count/growth.h"

#include <gtest/gtest.h>

namespace eidolon::timing::count {
namespace {

TEST(GrowthTest, FindsALineAndLeavesAloneWhatIsNone) {
  // 3 + 2 x of 100 blocks: 102 in the middle.
  const std::vector<BlockWork> line = {{0, 3}, {1, 5}, {7, 17}, {40, 83}};
  const auto growth = GrowthOf(line, 100, 1);
  ASSERT_TRUE(growth.has_value());
  EXPECT_NEAR(growth->first, 3.0 / 102, 1e-9);
  EXPECT_NEAR(growth->last, 201.0 / 102, 1e-9);
  EXPECT_EQ(growth->steps, 100);

  EXPECT_FALSE(GrowthOf(std::vector<BlockWork>{{0, 3}, {1, 5}, {7, 17}}, 100, 1).has_value());
  EXPECT_FALSE(GrowthOf(std::vector<BlockWork>{{0, 3}, {1, 9}, {7, 2}, {40, 8}}, 100, 1));
  EXPECT_FALSE(GrowthOf(std::vector<BlockWork>{{0, 3}, {1, 3}, {7, 3}, {40, 3}}, 100, 1));
}

TEST(GrowthTest, WeightsGiveWhatLiesBeyondTheBlocksThatWereRun) {
  const std::vector<BlockWork> line = {{0, 3}, {1, 5}, {4, 11}};
  const auto weights = WeightsAt(line, 10);
  double at = 0, sum = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    at += weights[i] * line[i].work / 3;
    sum += weights[i] / 3;
  }
  EXPECT_NEAR(at, 23, 1e-9);
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(GrowthTest, TheBusiestMultiprocessorEndsLaterWhereLongBlocksComeLast) {
  // One multiprocessor has all the work.
  const Growth rising{.first = 0.5, .last = 1.5, .steps = 3, .period = 1};
  EXPECT_NEAR(BusiestBlocks(rising, 3, 1, 1), 3, 1e-9);
  EXPECT_NEAR(BusiestBlocks(rising, 3, 1, 3), 3, 1e-9);
  // Two: 0.5 and then 1.5 on one, 1 on the other; begun with the longest, 1.5 beside 1 and 0.5.
  EXPECT_NEAR(BusiestBlocks(rising, 3, 2, 1), 2, 1e-9);
  const Growth falling{.first = 1.5, .last = 0.5, .steps = 3, .period = 1};
  EXPECT_NEAR(BusiestBlocks(falling, 3, 2, 1), 1.5, 1e-9);
  // Two that take turns: 1 and 1.5 end at 2 and 2.5 after 0.5 has left one alone.
  EXPECT_NEAR(BusiestBlocks(rising, 3, 2, 2), 2, 1e-9);
  // What comes before the last blocks is spread evenly.
  const double many = BusiestBlocks(rising, 3e6, 100, 2);
  EXPECT_GE(many, 3e4);
  EXPECT_LE(many, 3e4 + 3);
  EXPECT_EQ(BusiestBlocks(rising, 1e18, 100, 2), 1e16);
  EXPECT_EQ(BusiestBlocks({.first = 0, .last = 2, .steps = 1e9}, 1e12, 100, 2), 1e10);
}

}  // namespace
}  // namespace eidolon::timing::count
