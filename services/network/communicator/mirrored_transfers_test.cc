#include "services/network/communicator/mirrored_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace eidolon::network::communicator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A communicator of all of `ranks`, with the given ones live.
MirroredRanks WorldOf(std::uint32_t ranks, std::vector<std::uint32_t> live) {
  const auto fold =
      folding::Fold::Make({.ranks = ranks, .live_per_class = 1, .live = std::move(live)});
  EXPECT_TRUE(fold.has_value()) << fold.error().message;
  std::vector<std::uint32_t> members(ranks);
  std::iota(members.begin(), members.end(), 0u);
  const auto mirrored_ranks = MirroredRanks::Of(*fold, members);
  EXPECT_TRUE(mirrored_ranks.has_value()) << mirrored_ranks.error().message;
  return *mirrored_ranks;
}

// A step of a ring: to the next rank, from the one before.
Operation RingStep(std::int32_t rank, std::int32_t size) {
  return {
      .kind = Kind::kPointToPoint,
      .transfers = {{.send = true, .peer = (rank + 1) % size, .bytes = 4, .sequence = 9},
                    {.send = false, .peer = (rank + size - 1) % size, .bytes = 4, .sequence = 9}}};
}

TEST(MirroredTransfersTest, NeighboursInARingAreMirrored) {
  const MirroredRanks mirrored_ranks = WorldOf(8, {0, 3});

  const auto groups = MirroredGroupsOf(mirrored_ranks, 0, RingStep(0, 8), "abcd");

  // 1 receives from 0, 2 sends to 3.
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].rank, 1);
  EXPECT_THAT(groups[0].operation.transfers,
              ElementsAre(TransferCall{.send = false, .peer = 0, .bytes = 4, .sequence = 9}));
  EXPECT_EQ(groups[1].rank, 2);
  EXPECT_THAT(groups[1].operation.transfers,
              ElementsAre(TransferCall{.send = true, .peer = 3, .bytes = 4, .sequence = 9}));
  EXPECT_EQ(groups[1].payload, "abcd");
  // 4 receives from 3, 7 sends to 0.
  const auto upper = MirroredGroupsOf(mirrored_ranks, 3, RingStep(3, 8), "efgh");
  ASSERT_THAT(upper, SizeIs(2));
  EXPECT_EQ(upper[0].rank, 4);
  EXPECT_EQ(upper[1].rank, 7);
  EXPECT_EQ(upper[1].payload, "efgh");
  EXPECT_THAT(upper[1].operation.transfers,
              ElementsAre(TransferCall{.send = true, .peer = 0, .bytes = 4, .sequence = 9}));
}

TEST(MirroredTransfersTest, AStepOfARingIsTakenAmongAlikeRanks) {
  const MirroredRanks mirrored_ranks = WorldOf(8, {0, 3});

  EXPECT_EQ(FindUnlike(mirrored_ranks, 0, RingStep(0, 8)), std::nullopt);
}

TEST(MirroredTransfersTest, WhoOnlySendsToAMirroredRankIsNotLikeIt) {
  const MirroredRanks mirrored_ranks = WorldOf(8, {0, 3});
  const auto send_to = [](std::int32_t peer) {
    return Operation{.kind = Kind::kPointToPoint,
                     .transfers = {{.send = true, .peer = peer, .bytes = 4}}};
  };

  EXPECT_EQ(FindUnlike(mirrored_ranks, 0, send_to(2)), 2);
  EXPECT_EQ(FindUnlike(mirrored_ranks, 0, send_to(3)), std::nullopt) << "rank 3 is live";
}

TEST(MirroredTransfersTest, RanksOfARowDifferByTheirPositionInIt) {
  const std::vector<std::uint32_t> stages = {3, 19, 35, 51};

  EXPECT_THAT(DifferenceOf(stages, 0, 1, 64),
              ElementsAre(folding::Dimension{.stride = 16, .size = 4}));
  // The last stage sends to the first one, too.
  EXPECT_THAT(DifferenceOf(stages, 3, 0, 64),
              ElementsAre(folding::Dimension{.stride = 16, .size = 4}));
}

TEST(MirroredTransfersTest, RanksOfAPairOrOfTheWholeJobDifferByTheirDistance) {
  const std::vector<std::uint32_t> pair = {16, 32};
  std::vector<std::uint32_t> world(64);
  std::iota(world.begin(), world.end(), 0u);

  EXPECT_THAT(DifferenceOf(pair, 1, 0, 64),
              ElementsAre(folding::Dimension{.stride = 16, .size = 4}));
  EXPECT_THAT(DifferenceOf(world, 0, 16, 64),
              ElementsAre(folding::Dimension{.stride = 16, .size = 4}));
  EXPECT_THAT(DifferenceOf(world, 0, 48, 64),
              ElementsAre(folding::Dimension{.stride = 1, .size = 64}));
}

TEST(MirroredTransfersTest, APairAmongManyIsFirstTakenForARowOfTwo) {
  const std::vector<std::uint32_t> pair = {0, 1}, later = {5, 6};
  const folding::Dimension halves = {.stride = 1, .size = 2}, each = {.stride = 1, .size = 64};

  EXPECT_THAT(DifferenceOf(pair, 0, 1, 64), ElementsAre(halves));
  EXPECT_THAT(DifferenceOf(pair, 1, 0, 64), ElementsAre(halves));
  EXPECT_THAT(DifferenceOf(pair, 0, 1, 64, std::vector{halves}), ElementsAre(each));
  // This row begins at an odd place, so that rows of two would not hold it.
  EXPECT_THAT(DifferenceOf(later, 0, 1, 64), ElementsAre(each));
  // Few positions have a live rank each.
  EXPECT_THAT(DifferenceOf(pair, 0, 1, 8), ElementsAre(folding::Dimension{.stride = 1, .size = 8}));
}

TEST(MirroredTransfersTest, StagesOfAPipelineAreNotMirrored) {
  const MirroredRanks mirrored_ranks = WorldOf(8, {0, 3});
  const Operation first_stage = {
      .kind = Kind::kPointToPoint,
      .transfers = {{.send = true, .peer = 2, .bytes = 4}, {.send = false, .peer = 2, .bytes = 4}}};

  EXPECT_THAT(MirroredGroupsOf(mirrored_ranks, 0, first_stage, "abcd"), IsEmpty());
}

TEST(MirroredTransfersTest, NobodyMirrorsARankThatHasNoMirroredRankAboveIt) {
  EXPECT_THAT(MirroredGroupsOf(WorldOf(8, {0, 7}), 7, RingStep(7, 8), "abcd"), IsEmpty());
}

TEST(MirroredTransfersTest, UnknownBytesStayUnknown) {
  const auto groups = MirroredGroupsOf(WorldOf(4, {0}), 0, RingStep(0, 4), std::nullopt);

  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].payload, "") << "rank 1 only receives";
  EXPECT_EQ(groups[1].payload, std::nullopt);
}

}  // namespace
}  // namespace eidolon::network::communicator
