#include "services/network/collective/buffers.h"

#include <gtest/gtest.h>

#include "services/network/collective/shapes_test.h"

namespace eidolon::network::collective {
namespace {

TEST(BuffersTest, ALoneRankHoldsNone) { EXPECT_EQ(BufferBytes(H100(1, 1)), 0u); }

TEST(BuffersTest, ACommunicatorHoldsHundredsOfMebibytes) {
  const double mib = static_cast<double>(BufferBytes(H100(1, 8))) / (1 << 20);

  EXPECT_GT(mib, 200);
  EXPECT_LT(mib, 700);
  EXPECT_GT(BufferBytes(H100(2, 8)), BufferBytes(H100(1, 8)));
}

TEST(BuffersTest, StartUpGrowsWithTheRanksAndSplitsAreQuicker) {
  EXPECT_LT(InitTime(2), InitTime(1024));
  EXPECT_LT(SplitTime(8), InitTime(8));
}

TEST(BuffersTest, BlocksAreThoseOfALargeAllReduce) {
  EXPECT_EQ(BlocksOf(H100(1, 8)), 16u);
  EXPECT_EQ(BlocksOf(H100(1, 2)), 24u);
}

}  // namespace
}  // namespace eidolon::network::collective
