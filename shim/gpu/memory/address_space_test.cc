#include "shim/gpu/memory/address_space.h"

#include <gtest/gtest.h>

namespace eidolon::shim::gpu {
namespace {

TEST(AddressSpaceTest, GivesTheLowestFit) {
  AddressSpace space(4096, 4096);
  const auto first = space.Take(1024, 1);
  const auto second = space.Take(1024, 1);
  space.GiveBack(*first, 1024);

  EXPECT_EQ(second, 5120u);
  EXPECT_EQ(space.Take(512, 1), 4096u);
}

TEST(AddressSpaceTest, AlignsAndKeepsTheGapFree) {
  AddressSpace space(100, 1000);
  EXPECT_EQ(space.Take(100, 256), 256u);
  EXPECT_EQ(space.Take(156, 1), 100u);
}

TEST(AddressSpaceTest, MergesNeighboursInAnyOrder) {
  AddressSpace space(0, 300);
  space.Take(100, 1);
  space.Take(100, 1);
  space.Take(100, 1);
  space.GiveBack(0, 100);
  space.GiveBack(200, 100);
  EXPECT_FALSE(space.Take(200, 1).has_value());
  space.GiveBack(100, 100);

  EXPECT_EQ(space.Take(300, 1), 0u);
}

TEST(AddressSpaceTest, TakesAnExactRangeOnlyWhenFree) {
  AddressSpace space(0, 300);
  EXPECT_TRUE(space.TakeAt(100, 100));
  EXPECT_FALSE(space.TakeAt(150, 10));
  EXPECT_FALSE(space.TakeAt(250, 100));
  EXPECT_EQ(space.Take(100, 1), 0u);
}

}  // namespace
}  // namespace eidolon::shim::gpu
