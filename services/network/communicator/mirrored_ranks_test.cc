#include "services/network/communicator/mirrored_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {
namespace {

using ::testing::HasSubstr;

folding::Fold FoldOf(folding::FoldOptions options) {
  auto fold = folding::Fold::Make(std::move(options));
  EXPECT_TRUE(fold.has_value()) << fold.error().message;
  return fold.value_or(folding::Fold());
}

MirroredRanks WorldOf(const folding::Fold& fold) {
  std::vector<std::uint32_t> members(fold.ranks());
  std::iota(members.begin(), members.end(), 0u);
  auto mirrored_ranks = MirroredRanks::Of(fold, members);
  EXPECT_TRUE(mirrored_ranks.has_value()) << mirrored_ranks.error().message;
  return mirrored_ranks.value_or(MirroredRanks());
}

std::string Bytes(std::int64_t value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

const Operation kGather = {.kind = Kind::kAllGather, .data_type = kInt64, .count = 1, .bytes = 64};

TEST(MirroredRanksTest, MembersWithoutAProcessAreMirroredRanks) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8}));

  EXPECT_EQ(mirrored_ranks.count(), 6u);
  EXPECT_FALSE(mirrored_ranks.IsMirrored(0));
  EXPECT_TRUE(mirrored_ranks.IsMirrored(1));
  EXPECT_FALSE(mirrored_ranks.IsMirrored(7));
}

TEST(MirroredRanksTest, ACommunicatorOfLiveRanksHasNone) {
  const auto fold = FoldOf({.ranks = 8});
  const auto mirrored_ranks = MirroredRanks::Of(fold, std::vector<std::uint32_t>{0, 7});

  ASSERT_TRUE(mirrored_ranks.has_value());
  EXPECT_EQ(mirrored_ranks->count(), 0u);
  EXPECT_FALSE(mirrored_ranks->IsMirrored(1));
}

TEST(MirroredRanksTest, AMirroredRankMirrorsTheNextLiveMemberBelowIt) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8, .live = {4}}));

  EXPECT_EQ(mirrored_ranks.TwinOf(3), 0);
  EXPECT_EQ(mirrored_ranks.TwinOf(5), 4);
  EXPECT_EQ(mirrored_ranks.TwinOf(4), -1);
  const auto fold = FoldOf({.ranks = 8, .live_per_class = 1, .live = {4}});
  const auto upper = MirroredRanks::Of(fold, std::vector<std::uint32_t>{3, 4, 7});
  ASSERT_TRUE(upper.has_value());
  EXPECT_EQ(upper->TwinOf(0), 1) << "none is below";
  EXPECT_EQ(upper->TwinOf(2), 1);
}

TEST(MirroredRanksTest, AMirroredRankWhoseClassHasNoLiveMemberIsNamed) {
  const auto fold = FoldOf({.ranks = 8, .dimensions = {{.stride = 4, .size = 2}}});
  const auto mirrored_ranks = MirroredRanks::Of(fold, std::vector<std::uint32_t>{0, 5});

  ASSERT_FALSE(mirrored_ranks.has_value());
  EXPECT_THAT(mirrored_ranks.error().message, HasSubstr("rank 5 is mirrored"));
  EXPECT_THAT(mirrored_ranks.error().message, HasSubstr("--live 5"));
}

TEST(MirroredRanksTest, EqualValuesAreMirrored) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = inputs[7] = Bytes(42);

  EXPECT_EQ(mirrored_ranks.Mirror(kGather, &inputs), 0u);
  for (const Payload& input : inputs) EXPECT_EQ(input, Bytes(42));
}

TEST(MirroredRanksTest, IntegersThatGrowWithTheRankGoOn) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = Bytes(100);
  inputs[7] = Bytes(100 - 3 * 7);

  EXPECT_EQ(mirrored_ranks.Mirror(kGather, &inputs), 0u);
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(inputs[static_cast<std::size_t>(rank)], Bytes(100 - 3 * rank));
  }
}

TEST(MirroredRanksTest, WhatFollowsNoRuleIsMirroredAndCounted) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = Bytes(0);
  inputs[7] = Bytes(5);  // Not a whole step for each of seven ranks.

  EXPECT_EQ(mirrored_ranks.Mirror(kGather, &inputs), 6u);
  EXPECT_EQ(inputs[3], Bytes(0));

  Operation floats = kGather;
  floats.data_type = kFloat64;
  inputs.assign(8, std::nullopt);
  inputs[0] = Bytes(0);
  inputs[7] = Bytes(7);
  EXPECT_EQ(mirrored_ranks.Mirror(floats, &inputs), 6u);
}

TEST(MirroredRanksTest, UnknownValuesStayUnknown) {
  const MirroredRanks mirrored_ranks = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[7] = Bytes(1);

  EXPECT_EQ(mirrored_ranks.Mirror(kGather, &inputs), 0u);
  EXPECT_FALSE(inputs[3].has_value());
}

}  // namespace
}  // namespace eidolon::network::communicator
