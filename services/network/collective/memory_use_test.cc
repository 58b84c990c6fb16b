#include "services/network/collective/memory_use.h"

#include <gtest/gtest.h>

#include "services/network/collective/shapes_test.h"

namespace eidolon::network::collective {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

TEST(MemoryUseTest, EachByteThatArrivesIsWrittenReadAndCombined) {
  const Shape shape = H100(1, 8);

  // Seven eighths of the tensor arrive; an all-reduce is a reduce-scatter and an all-gather.
  EXPECT_EQ(MemoryBytes({.kind = Kind::kAllGather, .bytes = 64 * kMib}, shape), 3 * 56 * kMib);
  EXPECT_EQ(MemoryBytes({.kind = Kind::kReduceScatter, .bytes = 64 * kMib}, shape), 3 * 56 * kMib);
  EXPECT_EQ(MemoryBytes({.kind = Kind::kAllReduce, .bytes = 64 * kMib}, shape), 6 * 56 * kMib);
  EXPECT_EQ(MemoryBytes({.kind = Kind::kBroadcast, .bytes = 64 * kMib}, shape), 3 * 64 * kMib);
}

TEST(MemoryUseTest, ANicReadsABufferOfTheSenderToo) {
  const Call call = {.kind = Kind::kAllGather, .bytes = 64 * kMib};

  EXPECT_EQ(MemoryBytes(call, H100(2, 1)), (3 + 2) * 32 * kMib) << "each hop is one of a NIC";
  EXPECT_EQ(MemoryBytes(call, H100(2, 8)), (3 * 8 + 2) * 60 * kMib / 8) << "one hop of eight";
}

TEST(MemoryUseTest, AnExchangeReadsWhatItSends) {
  const Call call = {.kind = Kind::kAllToAll, .bytes = 64 * kMib};

  EXPECT_EQ(MemoryBytes(call, H100(1, 8)), 4 * 56 * kMib);
  EXPECT_EQ(MemoryBytes(call, H100(2, 1)), 6 * 32 * kMib);
  EXPECT_EQ(MemoryBytes({.kind = Kind::kGather, .bytes = 64 * kMib}, H100(1, 8)), 4 * 7 * kMib)
      << "the mean over eight members, of which one receives";
}

TEST(MemoryUseTest, WithoutNvlinkTheBufferIsTheHosts) {
  Shape shape = H100(1, 8);
  shape.nvlink = false;

  EXPECT_EQ(MemoryBytes({.kind = Kind::kAllGather, .bytes = 64 * kMib}, shape), 56 * kMib);
  EXPECT_EQ(TransferMemoryBytes(shape, 5 * kMib, 7 * kMib), 12 * kMib);
}

TEST(MemoryUseTest, TransfersCountWhatIsSentAndWhatIsReceived) {
  EXPECT_EQ(TransferMemoryBytes(H100(1, 8), 5 * kMib, 0), 5 * kMib);
  EXPECT_EQ(TransferMemoryBytes(H100(1, 8), 0, 7 * kMib), 21 * kMib);
  EXPECT_EQ(TransferMemoryBytes(H100(2, 8), 5 * kMib, 7 * kMib), 36 * kMib);
}

TEST(MemoryUseTest, AMemberAloneCopies) {
  EXPECT_EQ(MemoryBytes({.kind = Kind::kAllReduce, .bytes = kMib}, H100(1, 1)), 2 * kMib);
}

TEST(MemoryUseTest, FixedDurationsTakeNothing) {
  Shape shape = H100(1, 8);
  shape.tuning.fixed = {.latency = base::Duration::Microseconds(20),
                        .bytes_per_second = 1'000'000'000};

  EXPECT_EQ(MemoryBytes({.kind = Kind::kAllGather, .bytes = kMib}, shape), 0u);
  EXPECT_EQ(TransferMemoryBytes(shape, kMib, kMib), 0u);
}

}  // namespace
}  // namespace eidolon::network::collective
