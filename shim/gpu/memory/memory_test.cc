#include "shim/gpu/memory/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    agent_.Reset();
  }

  core::FakeAgent& agent_;
};

TEST_F(MemoryTest, TheContextIsBookedOnFirstUse) {
  const MemoryInfo info = GetMemoryInfo(0);
  EXPECT_EQ(info.total, std::uint64_t{80} << 30);
  EXPECT_LE(info.free, info.total - 500 * kMiB);
}

TEST_F(MemoryTest, LargeAllocationsUsePiecesOfTwoMebibytes) {
  const std::uint64_t before = GetMemoryInfo(0).free;
  std::uint64_t address;
  ASSERT_EQ(Allocate(0, 5 * kMiB, &address), Status::kSuccess);

  EXPECT_EQ(address % kGranuleBytes, 0u);
  EXPECT_EQ(before - GetMemoryInfo(0).free, 6 * kMiB);
  EXPECT_EQ(FindExtent(address + 5 * kMiB - 1)->bytes, 5 * kMiB);
  EXPECT_FALSE(FindExtent(address + 5 * kMiB).has_value());
  EXPECT_EQ(Free(address), Status::kSuccess);
  EXPECT_EQ(GetMemoryInfo(0).free, before);
}

TEST_F(MemoryTest, SmallAllocationsShareAPieceAt512Bytes) {
  const std::uint64_t before = GetMemoryInfo(0).free;
  std::vector<std::uint64_t> addresses(100);
  for (std::uint64_t& address : addresses) {
    ASSERT_EQ(Allocate(0, 1000, &address), Status::kSuccess);
    EXPECT_EQ(address % 512, 0u);
  }

  EXPECT_EQ(addresses[1] - addresses[0], 1024u);
  EXPECT_EQ(before - GetMemoryInfo(0).free, kGranuleBytes);
  for (const std::uint64_t address : addresses) EXPECT_EQ(Free(address), Status::kSuccess);
  EXPECT_EQ(GetMemoryInfo(0).free, before);
}

TEST_F(MemoryTest, SmallMemoryIsClearedTheFirstTimeThatItIsHandedOut) {
  std::uint64_t first;
  std::uint64_t second;
  std::uint64_t large;
  ASSERT_EQ(Allocate(1, 600, &first), Status::kSuccess);
  ASSERT_EQ(Allocate(1, 600, &second), Status::kSuccess);
  ASSERT_EQ(Allocate(1, 2 * kMiB, &large), Status::kSuccess);
  EXPECT_TRUE(IsCleared(first));
  EXPECT_TRUE(IsCleared(second));
  EXPECT_FALSE(IsCleared(large));

  ASSERT_EQ(Free(first), Status::kSuccess);
  ASSERT_EQ(Allocate(1, 300, &first), Status::kSuccess);
  EXPECT_FALSE(IsCleared(first));

  // This was part of something large.
  const std::uint64_t was_large = large;
  ASSERT_EQ(Free(large), Status::kSuccess);
  std::uint64_t third;
  ASSERT_EQ(Allocate(1, kMiB, &third), Status::kSuccess);
  ASSERT_EQ(Allocate(1, kMiB, &large), Status::kSuccess);
  EXPECT_EQ(large, was_large);
  EXPECT_FALSE(IsCleared(large));
  for (const std::uint64_t address : {first, second, third, large}) {
    EXPECT_EQ(Free(address), Status::kSuccess);
  }
}

TEST_F(MemoryTest, ARefusalIsReportedAndLeavesTheBookAlone) {
  const std::uint64_t before = GetMemoryInfo(0).free;
  std::uint64_t large = 0;
  ASSERT_EQ(Allocate(0, std::uint64_t{79} << 30, &large), Status::kSuccess);
  const std::uint64_t full = GetMemoryInfo(0).free;
  std::uint64_t address = 1;
  EXPECT_EQ(Allocate(0, std::uint64_t{2} << 30, &address), Status::kOutOfMemory);
  EXPECT_EQ(Allocate(0, ~std::uint64_t{0}, &address), Status::kOutOfMemory);

  EXPECT_EQ(address, 0u);
  EXPECT_EQ(GetMemoryInfo(0).free, full);
  const auto refused = agent_.RecordsOf(ring::RecordKind::kOutOfMemory);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].As<ring::MemoryRecord>().delta, std::int64_t{2} << 30);
  EXPECT_EQ(Free(large), Status::kSuccess);
  EXPECT_EQ(GetMemoryInfo(0).free, before);
}

TEST_F(MemoryTest, OnlyTheBeginOfAnAllocationCanBeFreed) {
  std::uint64_t address;
  ASSERT_EQ(Allocate(1, 4 * kMiB, &address), Status::kSuccess);

  EXPECT_EQ(DeviceOfAddress(address), 1);
  EXPECT_EQ(Free(address + 512), Status::kInvalidValue);
  EXPECT_EQ(Free(address), Status::kSuccess);
  EXPECT_EQ(Free(address), Status::kInvalidValue);
}

TEST_F(MemoryTest, BookedBytesCountWithoutAnAddress) {
  const std::uint64_t before = GetMemoryInfo(0).free;
  EXPECT_EQ(Book(0, ring::MemoryCategory::kNccl, 100 * static_cast<std::int64_t>(kMiB)),
            Status::kSuccess);
  EXPECT_EQ(before - GetMemoryInfo(0).free, 100 * kMiB);
  const auto records = agent_.RecordsOf(ring::RecordKind::kMemory);
  EXPECT_EQ(records.back().As<ring::MemoryRecord>().category, ring::MemoryCategory::kNccl);
  Book(0, ring::MemoryCategory::kNccl, -100 * static_cast<std::int64_t>(kMiB));
}

}  // namespace
}  // namespace eidolon::shim::gpu
