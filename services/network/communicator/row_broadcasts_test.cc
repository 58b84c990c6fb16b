#include "services/network/communicator/row_broadcasts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace eidolon::network::communicator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Answer = RowBroadcasts::Answer;

// 16 ranks, 0 and 15 live, in rows of four neighbours.
class RowBroadcastsTest : public testing::Test {
 protected:
  static folding::Fold MakeFold() {
    return *folding::Fold::Make({.ranks = 16, .live_per_class = 2});
  }
  RowBroadcasts::Row Enter(std::vector<std::uint32_t> ranks) {
    const auto row = rows_.Enter(ranks);
    EXPECT_TRUE(row.has_value());
    return row.value_or(RowBroadcasts::Row());
  }

  RowBroadcasts rows_{MakeFold()};
  Payload given_;
};

TEST_F(RowBroadcastsTest, AMirroredRankGivesWhatTheLiveRankAtItsPlaceGave) {
  const auto first = Enter({0, 1, 2, 3});
  const auto last = Enter({12, 13, 14, 15});

  EXPECT_THAT(rows_.Give(first, 0, 7, "shapes"), IsEmpty());

  EXPECT_EQ(rows_.Ask(last, 0, 7, {.communicator = 5, .sequence = 7}, &given_), Answer::kGiven);
  EXPECT_EQ(given_, "shapes");
}

TEST_F(RowBroadcastsTest, WhoAsksFirstIsToldWhenItIsGiven) {
  const auto first = Enter({0, 1, 2, 3});
  const auto last = Enter({12, 13, 14, 15});

  EXPECT_EQ(rows_.Ask(last, 0, 7, {.communicator = 5, .sequence = 7}, &given_), Answer::kLater);
  ASSERT_THAT(rows_.Waiting(), SizeIs(1));
  EXPECT_EQ(rows_.Waiting()[0].second, 0u);
  EXPECT_THAT(rows_.Give(first, 0, 6, "earlier"), IsEmpty());

  EXPECT_THAT(rows_.Give(first, 0, 7, "shapes"),
              ElementsAre(RowBroadcasts::Waiter{.communicator = 5, .sequence = 7}));
  EXPECT_THAT(rows_.Waiting(), IsEmpty());
}

TEST_F(RowBroadcastsTest, APlaceWithoutALiveRankIsNotKnown) {
  const auto last = Enter({12, 13, 14, 15});

  EXPECT_EQ(rows_.Ask(last, 1, 0, {}, &given_), Answer::kNobodyKnows);
  EXPECT_THAT(rows_.Waiting(), IsEmpty());
}

TEST_F(RowBroadcastsTest, RowsOfAnotherKindOrNumberAreAnother) {
  const auto row = Enter({0, 1, 2, 3});
  const auto again = Enter({0, 1, 2, 3});
  const auto column = Enter({0, 4, 8, 12});

  EXPECT_EQ(row.ordinal, 0u);
  EXPECT_EQ(again.ordinal, 1u);
  EXPECT_NE(row.dimensions, column.dimensions);
  rows_.Give(row, 0, 0, "row");
  EXPECT_EQ(rows_.Ask(column, 0, 0, {}, &given_), Answer::kLater);
}

TEST_F(RowBroadcastsTest, TheWholeJobAndGroupsThatAreNoGridAreNotRows) {
  std::vector<std::uint32_t> world(16);
  std::iota(world.begin(), world.end(), 0u);

  EXPECT_EQ(rows_.Enter(world), std::nullopt);
  EXPECT_EQ(rows_.Enter(std::vector<std::uint32_t>{0, 1, 5}), std::nullopt);
}

TEST_F(RowBroadcastsTest, WhatWasGivenLongAgoIsForgotten) {
  const auto first = Enter({0, 1, 2, 3});
  const auto last = Enter({12, 13, 14, 15});
  for (std::uint64_t sequence = 0; sequence < 5000; ++sequence) {
    rows_.Give(first, 0, sequence, "x");
  }

  EXPECT_EQ(rows_.Ask(last, 0, 1, {}, &given_), Answer::kNobodyKnows);
  EXPECT_EQ(rows_.Ask(last, 0, 4999, {}, &given_), Answer::kGiven);
}

}  // namespace
}  // namespace eidolon::network::communicator
