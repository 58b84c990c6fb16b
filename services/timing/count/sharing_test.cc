#include "services/timing/count/sharing.h"

#include <gtest/gtest.h>

namespace eidolon::timing::count {
namespace {

TEST(SharingTest, BlocksShareWhatBothEndsOfASideTouch) {
  const RegionTouched keys{.sectors = 1000, .least = 5000, .most = 5999};
  const RegionTouched half{.sectors = 500, .least = 5000, .most = 5499};  // Under a causal mask.
  const RegionTouched next{.sectors = 1000, .least = 6000, .most = 6999};
  const RegionTouched header{.sectors = 1001, .least = 5000, .most = 90'000};
  EXPECT_TRUE(TouchTheSame(keys, keys));
  EXPECT_TRUE(TouchTheSame(keys, half));
  EXPECT_TRUE(TouchTheSame(half, keys));
  EXPECT_FALSE(TouchTheSame(keys, next));
  EXPECT_FALSE(TouchTheSame(keys, header));
  EXPECT_FALSE(TouchTheSame(keys, RegionTouched{}));
}

TEST(SharingTest, CountsBlocksThatDoNotShare) {
  // 264 blocks of 8 x 16 x 32: 33 rows along x.
  EXPECT_EQ(DifferentBlocks(264, {8, 16, 32}, {true, false, false}), 33);
  EXPECT_EQ(DifferentBlocks(264, {8, 16, 32}, {false, false, false}), 264);
  EXPECT_EQ(DifferentBlocks(264, {8, 16, 32}, {false, true, false}), 8 * 3);
  // Two whole rows and a part of the next one along z.
  EXPECT_EQ(DifferentBlocks(264, {8, 16, 32}, {false, false, true}), 128);
  EXPECT_EQ(DifferentBlocks(4096, {8, 16, 32}, {true, false, false}), 512);
  EXPECT_EQ(DifferentBlocks(4096, {8, 16, 32}, {true, true, true}), 1);
  EXPECT_EQ(DifferentBlocks(5, {8, 16, 32}, {true, false, false}), 1);
}

}  // namespace
}  // namespace eidolon::timing::count
