#include "services/network/communicator/row_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {
namespace {

using folding::Dimension;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const RowBroadcasts::Row kRow = {.dimensions = {{.stride = 1, .size = 4}}};

Operation Gather(std::uint32_t type, std::uint64_t bytes) {
  return {.kind = Kind::kAllGather, .data_type = type, .count = bytes, .bytes = bytes};
}

TEST(RowCallsTest, RowsThatCallTheSameAreAlike) {
  RowCalls calls;
  EXPECT_FALSE(calls.Add(kRow, 0, 0, Gather(kFloat32, 64)));
  EXPECT_FALSE(calls.Add(kRow, 0, 1, Gather(kFloat32, 32)));
  EXPECT_FALSE(calls.Add(kRow, 15, 0, Gather(kFloat32, 64)));
  EXPECT_FALSE(calls.Add(kRow, 15, 1, Gather(kFloat32, 32)));
}

TEST(RowCallsTest, ADifferenceNamesTheOtherRow) {
  RowCalls calls;
  EXPECT_FALSE(calls.Add(kRow, 0, 5, Gather(kFloat32, 64)));

  const auto other = calls.Add(kRow, 15, 5, Gather(kFloat32, 65));

  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->rank, 0u);
  EXPECT_EQ(other->operation.bytes, 64u);
  Operation sum = Gather(kFloat32, 64);
  sum.kind = Kind::kAllReduce;
  EXPECT_TRUE(calls.Add(kRow, 15, 5, sum).has_value());
}

TEST(RowCallsTest, ObjectsMayBeOfAnyLength) {
  RowCalls calls;
  EXPECT_FALSE(calls.Add(kRow, 0, 0, Gather(kUint8, 64)));
  EXPECT_FALSE(calls.Add(kRow, 15, 0, Gather(kUint8, 80)));
}

TEST(RowCallsTest, RowsOfOtherClassesAndGroupsAreNotCompared) {
  RowCalls calls;
  EXPECT_FALSE(calls.Add(kRow, 0, 0, Gather(kFloat32, 64)));
  EXPECT_FALSE(calls.Add({kRow.dimensions, 1, 0}, 4, 0, Gather(kFloat32, 65)));
  EXPECT_FALSE(calls.Add({kRow.dimensions, 0, 1}, 0, 0, Gather(kFloat32, 66)));
}

TEST(RowCallsTest, WhatIsFarBehindIsNotCompared) {
  RowCalls calls;
  for (std::uint64_t sequence = 0; sequence < 10'000; ++sequence) {
    EXPECT_FALSE(calls.Add(kRow, 0, sequence, Gather(kFloat32, 64)));
  }
  EXPECT_FALSE(calls.Add(kRow, 15, 0, Gather(kFloat32, 65)));
  EXPECT_TRUE(calls.Add(kRow, 15, 9'999, Gather(kFloat32, 65)));
}

TEST(RowCallsTest, RowsDifferByTheirBlocksFirst) {
  // Data parallelism over four ranks within each of four stages.
  const std::vector<Dimension> inner = {{.stride = 1, .size = 4}};
  EXPECT_THAT(DifferenceOfRows(inner, 1, 15, 16), ElementsAre(Dimension{.stride = 4, .size = 4}));
  EXPECT_THAT(DifferenceOfRows(inner, 1, 3, 16), IsEmpty());
  // Rows in steps of two ranks, in two blocks of eight.
  const std::vector<Dimension> stepped = {{.stride = 2, .size = 4}};
  EXPECT_THAT(DifferenceOfRows(stepped, 0, 9, 16), ElementsAre(Dimension{.stride = 8, .size = 2}));
  EXPECT_THAT(DifferenceOfRows(stepped, 0, 7, 16), ElementsAre(Dimension{.stride = 1, .size = 2}));
  // Rows over the whole job differ by their place between the steps.
  const std::vector<Dimension> outer = {{.stride = 4, .size = 4}};
  EXPECT_THAT(DifferenceOfRows(outer, 0, 15, 16), ElementsAre(Dimension{.stride = 1, .size = 4}));
}

}  // namespace
}  // namespace eidolon::network::communicator
