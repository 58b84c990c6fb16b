#include "shim/value/compute/sample_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace eidolon::shim::compute {
namespace {

TEST(SampleBlocksTest, CornersAreAmongThoseThatAreRun) {
  const std::vector<std::uint64_t> blocks = SampleBlocks({100, 3, 2});
  for (const std::uint64_t corner : {0, 99, 200, 299, 300, 399, 500, 599}) {
    EXPECT_TRUE(std::ranges::binary_search(blocks, corner)) << corner;
  }
  EXPECT_EQ(SampleBlocks({1, 1, 1}), std::vector<std::uint64_t>{0});
}

TEST(SampleBlocksTest, BlocksThatCheckLieInEveryPartOfTheGrid) {
  for (const interpret::Dims& grid : {interpret::Dims{300, 1, 1}, interpret::Dims{100, 3, 1},
                                      interpret::Dims{0x7fffffff, 9, 3}}) {
    std::set<std::uint64_t> eighths;
    for (const std::uint64_t block : CheckBlocks(grid)) {
      ASSERT_LT(block, grid.volume());
      eighths.insert(block / (grid.volume() / 8 + 1));
    }
    EXPECT_EQ(eighths.size(), 8u) << grid.x;
  }
}

}  // namespace
}  // namespace eidolon::shim::compute
