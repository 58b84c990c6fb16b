#include "shim/gpu/allocation/virtual_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "shim/core/fake_agent.h"
#include "shim/gpu/allocation/pool.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint64_t kPiece = 20 << 20;

class VirtualMemoryTest : public ::testing::Test {
 protected:
  VirtualMemoryTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    before_ = GetMemoryInfo(0).free;
  }
  std::uint64_t Used() { return before_ - GetMemoryInfo(0).free; }

  core::FakeAgent& agent_;
  std::uint64_t before_ = 0;
};

TEST_F(VirtualMemoryTest, AnExpandableSegmentGrowsAndShrinks) {
  std::uint64_t address = 0;
  PhysicalHandle first = 0;
  PhysicalHandle second = 0;
  ASSERT_EQ(ReserveAddress(std::uint64_t{90} << 30, 0, 0, &address), Status::kSuccess);
  EXPECT_EQ(Used(), 0u);
  ASSERT_EQ(CreatePhysical({}, kPiece, &first), Status::kSuccess);
  ASSERT_EQ(CreatePhysical({}, kPiece, &second), Status::kSuccess);
  EXPECT_EQ(Map(address, kPiece, 0, first), Status::kSuccess);
  EXPECT_EQ(Map(address + kPiece, kPiece, 0, second), Status::kSuccess);
  EXPECT_EQ(Used(), 2 * kPiece);
  EXPECT_EQ(SetAccess(address, 2 * kPiece, 0, Access::kReadWrite), Status::kSuccess);
  EXPECT_EQ(FindExtent(address + kPiece)->begin, address + kPiece);
  EXPECT_EQ(DeviceOfAddress(address), 0);

  EXPECT_EQ(ReleasePhysical(first), Status::kSuccess);
  EXPECT_EQ(Used(), 2 * kPiece);
  EXPECT_EQ(Unmap(address, kPiece), Status::kSuccess);
  EXPECT_EQ(Used(), kPiece);
  EXPECT_EQ(FreeAddress(address, std::uint64_t{90} << 30), Status::kInvalidValue);
  EXPECT_EQ(Unmap(address + kPiece, kPiece), Status::kSuccess);
  EXPECT_EQ(ReleasePhysical(second), Status::kSuccess);
  EXPECT_EQ(FreeAddress(address, std::uint64_t{90} << 30), Status::kSuccess);
  EXPECT_EQ(Used(), 0u);
}

TEST_F(VirtualMemoryTest, BadArgumentsAreRefused) {
  std::uint64_t address = 0;
  PhysicalHandle handle = 0;
  EXPECT_EQ(ReserveAddress(1000, 0, 0, &address), Status::kInvalidValue);
  EXPECT_EQ(CreatePhysical({.device = 9}, kPiece, &handle), Status::kInvalidDevice);
  EXPECT_EQ(CreatePhysical({}, std::uint64_t{90} << 30, &handle), Status::kOutOfMemory);
  ASSERT_EQ(ReserveAddress(kPiece, 0, 0, &address), Status::kSuccess);
  ASSERT_EQ(CreatePhysical({}, kPiece, &handle), Status::kSuccess);
  EXPECT_EQ(Map(address, 2 * kPiece, 0, handle), Status::kInvalidValue);
  EXPECT_EQ(Map(address, kPiece, 0, handle), Status::kSuccess);
  EXPECT_EQ(Map(address, kPiece, 0, handle), Status::kInvalidValue);
  EXPECT_EQ(Unmap(address, kGranuleBytes), Status::kInvalidValue);
  EXPECT_EQ(Unmap(address, kPiece), Status::kSuccess);
  ReleasePhysical(handle);
  EXPECT_EQ(ReleasePhysical(handle), Status::kInvalidValue);
  FreeAddress(address, kPiece);
}

TEST_F(VirtualMemoryTest, AnImportedHandleIsNotBookedAgain) {
  PhysicalHandle handle = 0;
  PhysicalHandle imported = 0;
  int descriptor = -1;
  ASSERT_EQ(CreatePhysical({}, kPiece, &handle), Status::kSuccess);
  ASSERT_EQ(ExportPhysical(handle, &descriptor), Status::kSuccess);
  EXPECT_EQ(ImportPhysical(descriptor, &imported), Status::kSuccess);
  close(descriptor);

  EXPECT_EQ(Used(), kPiece);
  ReleasePhysical(imported);
  EXPECT_EQ(Used(), kPiece);
  ReleasePhysical(handle);
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(ImportPhysical(0, &imported), Status::kInvalidValue);
}

TEST_F(VirtualMemoryTest, APoolKeepsUpToItsThreshold) {
  PoolHandle pool = nullptr;
  ASSERT_EQ(CreatePool(0, &pool), Status::kSuccess);
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  ASSERT_EQ(AllocateFromPool(pool, kPiece, nullptr, &address), Status::kSuccess);
  EXPECT_EQ(FreeAsync(address, nullptr), Status::kSuccess);
  EXPECT_EQ(Used(), 0u);

  SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, ~std::uint64_t{0});
  AllocateFromPool(pool, kPiece, nullptr, &address);
  FreeAsync(address, nullptr);
  EXPECT_EQ(Used(), kPiece);
  GetPoolAttribute(pool, PoolAttribute::kUsedHigh, &value);
  EXPECT_EQ(value, kPiece);
  std::uint64_t again = 0;
  AllocateFromPool(pool, kPiece, nullptr, &again);
  EXPECT_EQ(again, address);
  FreeAsync(again, nullptr);
  EXPECT_EQ(TrimPool(pool, 0), Status::kSuccess);
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(DestroyPool(pool), Status::kSuccess);
}

TEST_F(VirtualMemoryTest, APoolThatIsDestroyedInUseEndsWithItsMemory) {
  PoolHandle pool = nullptr;
  ASSERT_EQ(CreatePool(0, &pool), Status::kSuccess);
  SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, ~std::uint64_t{0});
  std::uint64_t address = 0;
  std::uint64_t unused = 0;
  ASSERT_EQ(AllocateFromPool(pool, kPiece, nullptr, &address), Status::kSuccess);

  EXPECT_EQ(DestroyPool(pool), Status::kSuccess);

  EXPECT_EQ(Used(), kPiece);
  EXPECT_EQ(AllocateFromPool(pool, kPiece, nullptr, &unused), Status::kInvalidValue);
  EXPECT_EQ(SetCurrentPool(0, pool), Status::kInvalidValue);
  EXPECT_EQ(DestroyPool(pool), Status::kInvalidValue);
  EXPECT_EQ(FreeAsync(address, nullptr), Status::kSuccess);
  EXPECT_EQ(Used(), 0u);
  PoolHandle next = nullptr;
  ASSERT_EQ(CreatePool(0, &next), Status::kSuccess);
  EXPECT_EQ(next, pool) << "the object is used again";
  DestroyPool(next);
}

}  // namespace
}  // namespace eidolon::shim::gpu
