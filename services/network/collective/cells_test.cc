#include "services/network/collective/cells.h"

#include <gtest/gtest.h>

#include "services/network/collective/shapes_test.h"

namespace eidolon::network::collective {
namespace {

constexpr Protocol kSimple = Protocol::kSimple;

Call AllReduce(std::uint64_t bytes) { return {.kind = Kind::kAllReduce, .bytes = bytes}; }
Call AllGather(std::uint64_t bytes) { return {.kind = Kind::kAllGather, .bytes = bytes}; }

TEST(CellsTest, OneGpuAServerCountsATreesNetworkSteps) {
  // 6.6 us, then 9 steps of 5.0 instead of a ring's 2.7.
  EXPECT_NEAR(CellOf(AllGather(8), H100(10, 1), Algorithm::kRing, Protocol::kLl)->latency_us,
              6.6 + 9 * 5.0, 1e-9);
}

TEST(CellsTest, PatNeedsOneGpuAServer) {
  const auto cell = CellOf(AllGather(1 << 20), H100(8, 1), Algorithm::kPat, kSimple);

  ASSERT_TRUE(cell.has_value());
  EXPECT_NEAR(cell->latency_us, 8 + 3 * 14 / 3.5 + 8 * 2.8, 1e-9);
  EXPECT_NEAR(cell->transfer_us, (1 << 20) / (48 * 0.75) * 1e-3, 1e-6);
  EXPECT_FALSE(CellOf(AllGather(1 << 20), H100(8, 2), Algorithm::kPat, kSimple).has_value());
  EXPECT_FALSE(CellOf(AllReduce(1 << 20), H100(8, 1), Algorithm::kPat, kSimple).has_value());
}

TEST(CellsTest, CollNetNeedsSwitchesThatReduceAndTheUsersRequest) {
  Shape shape = H100(4, 8);
  EXPECT_FALSE(CellOf(AllReduce(1 << 30), shape, Algorithm::kCollNetDirect, kSimple).has_value());
  shape.in_network_reduction = true;
  EXPECT_FALSE(CellOf(AllReduce(1 << 30), shape, Algorithm::kCollNetDirect, kSimple).has_value());
  shape.tuning.collnet = true;

  EXPECT_TRUE(CellOf(AllReduce(1 << 30), shape, Algorithm::kCollNetDirect, kSimple).has_value());
  EXPECT_TRUE(CellOf(AllReduce(1 << 30), shape, Algorithm::kCollNetChain, kSimple).has_value());
  const auto nvls = CellOf(AllReduce(1 << 30), shape, Algorithm::kNvls, kSimple);
  ASSERT_TRUE(nvls.has_value());
  EXPECT_NEAR(nvls->latency_us, 25 + 18, 1e-9);
}

TEST(CellsTest, BroadcastsAndReductionsArePipelines) {
  const auto cell =
      CellOf({.kind = Kind::kBroadcast, .bytes = 8}, H100(2, 8), Algorithm::kRing, Protocol::kLl);

  EXPECT_NEAR(cell->latency_us, 6.6 + 2.7, 1e-9);
}

TEST(CellsTest, TheTuningForbids) {
  Shape shape = H100(1, 8);
  shape.tuning.nvls = false;
  EXPECT_FALSE(CellOf(AllReduce(1 << 30), shape, Algorithm::kNvls, kSimple).has_value());
  for (Allowed& allowed : shape.tuning.allowed) allowed.protocols = 1;  // LL.
  EXPECT_FALSE(CellOf(AllReduce(1 << 30), shape, Algorithm::kRing, kSimple).has_value());
  EXPECT_TRUE(CellOf(AllReduce(1 << 30), shape, Algorithm::kRing, Protocol::kLl).has_value());
}

TEST(CellsTest, FewerChannelsAreSlowerAndMoreAreNotFaster) {
  Shape few = H100(1, 8);
  few.tuning.channels_max = 4;
  Shape many = H100(1, 8);
  many.tuning.channels_min = 32;
  const double normal = CellOf(AllGather(1 << 30), H100(1, 8), Algorithm::kRing, kSimple)->Total();

  // 4 channels of 40 GB/s instead of 24 of 15.
  EXPECT_NEAR(CellOf(AllGather(1 << 30), few, Algorithm::kRing, kSimple)->transfer_us,
              (1 << 30) / (160 * 8.0 / 7) * 1e-3, 1e-6);
  EXPECT_NEAR(CellOf(AllGather(1 << 30), many, Algorithm::kRing, kSimple)->Total(), normal, 1e-6);
}

}  // namespace
}  // namespace eidolon::network::collective
