#include "services/network/collective/point_to_point.h"

#include <gtest/gtest.h>

#include "services/network/collective/shapes_test.h"

namespace eidolon::network::collective {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

TEST(PointToPointTest, FixedTransfersAreEqualOnAllLinks) {
  Shape shape = H100(2, 8);
  shape.tuning.fixed = {.latency = base::Duration::Microseconds(20),
                        .bytes_per_second = 1'000'000'000};
  for (const Span span : {Span::kSameGpu, Span::kSameServer, Span::kBetweenServers}) {
    const TransferCost cost = TransferCostOf(shape, span, 1000);
    EXPECT_EQ(cost.latency, base::Duration::Microseconds(20));
    EXPECT_EQ(cost.bytes_per_second, 1'000'000'000u);
  }
  EXPECT_EQ(LeastTransferTime(shape, 1000), base::Duration::Microseconds(21));
}

TEST(PointToPointTest, ChannelsFollowTheCommunicatorAndTheMessage) {
  struct Case {
    std::uint32_t members;
    std::uint64_t mib;
    std::uint32_t channels;
  };
  const Case cases[] = {{8, 32, 2}, {8, 64, 2}, {8, 128, 4}, {8, 256, 8}, {8, 512, 16},
                        {4, 32, 4}, {4, 64, 4}, {4, 128, 4}, {4, 256, 8}, {4, 1024, 16}};
  for (const Case& row : cases) {
    const TransferCost cost =
        TransferCostOf(H100(1, row.members), Span::kSameServer, row.mib * kMebibyte);

    EXPECT_EQ(cost.channels, row.channels) << row.members << " ranks, " << row.mib << " MiB";
  }
}

TEST(PointToPointTest, ASmallMessageUsesLlAndALargeOneTheNic) {
  const TransferCost small = TransferCostOf(H100(2, 8), Span::kBetweenServers, 1024);
  const TransferCost large = TransferCostOf(H100(2, 8), Span::kBetweenServers, 256 * kMebibyte);

  EXPECT_EQ(small.protocol, Protocol::kLl);
  EXPECT_NEAR(small.latency.Seconds() * 1e6, 9.3, 0.01);
  EXPECT_EQ(large.protocol, Protocol::kSimple);
  EXPECT_NEAR(static_cast<double>(large.bytes_per_second) * 1e-9, 43, 1);
}

TEST(PointToPointTest, ManyPeersLeaveATransferOneChannelOfTheNic) {
  struct Case {
    std::uint32_t nodes, members;
    double gigabytes;
  };
  // Medians of 16 GiB, github.com/xxrjun/nccl-tests-cluster.
  const Case cases[] = {{2, 1, 39.7}, {2, 8, 43.1}, {10, 1, 24.9}, {10, 4, 26.2}, {10, 8, 15.2}};
  for (const Case& row : cases) {
    const TransferCost cost =
        TransferCostOf(H100(row.nodes, row.members), Span::kBetweenServers, 16384 * kMebibyte);

    EXPECT_NEAR(static_cast<double>(cost.bytes_per_second) * 1e-9 / row.gigabytes, 1, 0.1)
        << row.nodes << "x" << row.members;
  }
}

TEST(PointToPointTest, ATransferToItselfIsACopy) {
  const TransferCost cost = TransferCostOf(H100(1, 2), Span::kSameGpu, kMebibyte);

  EXPECT_GT(cost.latency.ps, 0);
  EXPECT_GT(cost.bytes_per_second, 1'000'000'000'000u);
}

TEST(PointToPointTest, AnExchangeBetweenServersIsBoundByTheNics) {
  // 16 ranks exchange 1 GiB each: half of it crosses at 48.9 GB/s a NIC.
  const Cost cost = ExchangeCost({.kind = Kind::kAllToAll, .bytes = 1024 * kMebibyte}, H100(2, 8));

  EXPECT_NEAR(cost.transfer.Seconds(), 512.0 * kMebibyte / 48.9e9, 1e-5);
}

}  // namespace
}  // namespace eidolon::network::collective
