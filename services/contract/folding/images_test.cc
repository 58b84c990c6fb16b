#include "services/contract/folding/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::folding {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Lattice Read(const std::vector<std::uint32_t>& ranks) {
  const auto lattice = LatticeOf(ranks);
  EXPECT_TRUE(lattice.has_value());
  return lattice.value_or(Lattice());
}

Fold FoldOf(FoldOptions options) {
  auto fold = Fold::Make(std::move(options));
  EXPECT_TRUE(fold.has_value()) << fold.error().message;
  return fold.value_or(Fold());
}

TEST(LatticeTest, ReadsRowsAndGrids) {
  EXPECT_EQ(Read({7}), (Lattice{.origin = 7}));
  EXPECT_EQ(Read({2, 10, 18}), (Lattice{.origin = 2, .dimensions = {{8, 3}}}));
  EXPECT_EQ(Read({0, 1, 8, 9, 16, 17}), (Lattice{.origin = 0, .dimensions = {{1, 2}, {8, 3}}}));
}

TEST(LatticeTest, OtherGroupsAreNone) {
  EXPECT_FALSE(LatticeOf(std::vector<std::uint32_t>{}).has_value());
  EXPECT_FALSE(LatticeOf(std::vector<std::uint32_t>{0, 1, 3}).has_value());
  EXPECT_FALSE(LatticeOf(std::vector<std::uint32_t>{0, 1, 8, 10}).has_value());
}

TEST(ImagesTest, OtherRowsOfOneClassAreImages) {
  // Data parallel over 4 servers of 2: two rows, one of them of mirrored ranks.
  const Fold fold = FoldOf({.ranks = 8, .live_per_class = 1});

  EXPECT_THAT(ImagesOf(fold, Read({0, 2, 4, 6})), ElementsAre(1u));
  EXPECT_THAT(ImagesOf(fold, Read({0, 1})), ElementsAre(2u, 4u, 6u));
}

TEST(ImagesTest, RowsWithALiveRankAreNoImagesAndOnlyTheFirstHasThem) {
  const Fold fold = FoldOf({.ranks = 16, .live = {15}});

  EXPECT_THAT(ImagesOf(fold, Read({0, 4, 8, 12})), ElementsAre(1u, 2u));
  EXPECT_THAT(ImagesOf(fold, Read({3, 7, 11, 15})), IsEmpty());
}

TEST(ImagesTest, ClassesHaveImagesOfTheirOwn) {
  // 2 stages x 4 data-parallel copies x 2 tensor-parallel ranks.
  const Fold fold =
      FoldOf({.ranks = 16, .dimensions = {{.stride = 8, .size = 2}}, .live_per_class = 1});

  EXPECT_THAT(ImagesOf(fold, Read({0, 2, 4, 6})), ElementsAre(1u));
  EXPECT_THAT(ImagesOf(fold, Read({8, 10, 12, 14})), ElementsAre(9u));
  EXPECT_THAT(ImagesOf(fold, Read({0, 8})), SizeIs(7));
}

TEST(ImagesTest, GroupsThatDoNotDivideTheJobHaveNone) {
  const Fold fold = FoldOf({.ranks = 8, .live_per_class = 1});

  EXPECT_THAT(ImagesOf(fold, Read({0, 3})), IsEmpty());
  EXPECT_THAT(ImagesOf(fold, Read({1, 3, 5})), IsEmpty());
  EXPECT_THAT(ImagesOf(Fold(), Read({0, 1})), IsEmpty());
}

}  // namespace
}  // namespace eidolon::folding
