#include "services/network/communicator/work_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorkTable Made(std::uint32_t ranks, std::vector<std::uint32_t> live = {}) {
  auto fold = folding::Fold::Make({.ranks = ranks, .live = std::move(live)});
  EXPECT_TRUE(fold.has_value());
  return WorkTable(*fold);
}

Operation Gather(std::string site = "") {
  return {.kind = Kind::kAllGather,
          .data_type = kInt32,
          .count = 4,
          .bytes = 128,
          .site = std::move(site)};
}

TEST(WorkTableTest, EqualWorkIsNoDifference) {
  WorkTable table = Made(8);
  for (std::uint64_t digest = 1; digest < 5; ++digest) {
    EXPECT_THAT(table.Add(0, {.launches = 3, .digest = digest}, Gather()), IsEmpty());
    EXPECT_THAT(table.Add(7, {.launches = 3, .digest = digest}, Gather()), IsEmpty());
  }
}

TEST(WorkTableTest, OtherWorkIsNamedWithBothLinesWhicheverRankComesFirst) {
  for (const bool last_first : {false, true}) {
    WorkTable table = Made(8);
    std::vector<WorkTable::Difference> found;
    const auto add = [&](std::uint32_t rank, std::uint64_t launches, const char* site) {
      for (auto& one : table.Add(rank, {.launches = launches, .digest = launches}, Gather(site))) {
        found.push_back(one);
      }
    };
    add(last_first ? 7 : 0, last_first ? 5 : 3, last_first ? "b.py:2" : "a.py:1");
    add(last_first ? 0 : 7, last_first ? 3 : 5, last_first ? "a.py:1" : "b.py:2");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].reference, 0u);
    EXPECT_EQ(found[0].where,
              "rank 0 launches 3 kernels and copies, rank 7 5 kernels and copies before "
              "all_gather of 4 int32 at a.py:1 (rank 7: at b.py:2)");
  }
}

TEST(WorkTableTest, AsManyLaunchesOfOtherSizesAreADifference) {
  WorkTable table = Made(8);
  table.Add(0, {.launches = 3, .digest = 1}, Gather());
  const auto found = table.Add(7, {.launches = 3, .digest = 2}, Gather());
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].where, HasSubstr("ranks 0 and 7 launch 3 kernels and copies of other"));
}

TEST(WorkTableTest, EachLiveRankIsComparedWithTheLowestOne) {
  WorkTable table = Made(8, {3});
  EXPECT_THAT(table.Add(3, {.launches = 1, .digest = 5}, Gather()), IsEmpty());
  EXPECT_THAT(table.Add(7, {.launches = 1, .digest = 5}, Gather()), IsEmpty());
  EXPECT_THAT(table.Add(0, {.launches = 1, .digest = 4}, Gather()), SizeIs(2));
}

TEST(WorkTableTest, RanksOfOtherClassesAndRanksThatCallOtherThingsAreNotCompared) {
  auto fold = folding::Fold::Make({.ranks = 8, .dimensions = {{.stride = 4, .size = 2}}});
  WorkTable stages(*fold);  // 0, 3, 4 and 7 are live.
  EXPECT_THAT(stages.Add(0, {.launches = 1, .digest = 1}, Gather()), IsEmpty());
  EXPECT_THAT(stages.Add(4, {.launches = 9, .digest = 9}, Gather()), IsEmpty());
  EXPECT_THAT(stages.Add(3, {.launches = 1, .digest = 1}, Gather()), IsEmpty());

  WorkTable table = Made(8);
  Operation other = Gather();
  other.kind = Kind::kAllReduce;
  EXPECT_THAT(table.Add(0, {.launches = 1, .digest = 1}, Gather()), IsEmpty());
  EXPECT_THAT(table.Add(7, {.launches = 2, .digest = 2}, other), IsEmpty());
  EXPECT_THAT(table.Add(0, {.launches = 1, .digest = 1}, Gather()), IsEmpty());
  EXPECT_THAT(table.Add(7, {.launches = 2, .digest = 2}, Gather()), IsEmpty());
}

TEST(WorkTableTest, AJobThatIsNotFoldedHasNothingToCompare) {
  WorkTable table((folding::Fold()));
  EXPECT_THAT(table.Add(0, {.launches = 1, .digest = 1}, Gather()), IsEmpty());
}

}  // namespace
}  // namespace eidolon::network::communicator
