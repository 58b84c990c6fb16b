#include "services/network/communicator/ghosts.h"

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

Ghosts WorldOf(const folding::Fold& fold) {
  std::vector<std::uint32_t> members(fold.ranks());
  std::iota(members.begin(), members.end(), 0u);
  auto ghosts = Ghosts::Of(fold, members);
  EXPECT_TRUE(ghosts.has_value()) << ghosts.error().message;
  return ghosts.value_or(Ghosts());
}

std::string Bytes(std::int64_t value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

const Operation kGather = {.kind = Kind::kAllGather, .data_type = kInt64, .count = 1, .bytes = 64};

TEST(GhostsTest, MembersWithoutAProcessAreGhosts) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8}));

  EXPECT_EQ(ghosts.count(), 6u);
  EXPECT_FALSE(ghosts.IsGhost(0));
  EXPECT_TRUE(ghosts.IsGhost(1));
  EXPECT_FALSE(ghosts.IsGhost(7));
}

TEST(GhostsTest, ACommunicatorOfLiveRanksHasNone) {
  const auto fold = FoldOf({.ranks = 8});
  const auto ghosts = Ghosts::Of(fold, std::vector<std::uint32_t>{0, 7});

  ASSERT_TRUE(ghosts.has_value());
  EXPECT_EQ(ghosts->count(), 0u);
  EXPECT_FALSE(ghosts->IsGhost(1));
}

TEST(GhostsTest, AGhostMirrorsTheNextLiveMemberBelowIt) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8, .live = {4}}));

  EXPECT_EQ(ghosts.TwinOf(3), 0);
  EXPECT_EQ(ghosts.TwinOf(5), 4);
  EXPECT_EQ(ghosts.TwinOf(4), -1);
  const auto fold = FoldOf({.ranks = 8, .live_per_class = 1, .live = {4}});
  const auto upper = Ghosts::Of(fold, std::vector<std::uint32_t>{3, 4, 7});
  ASSERT_TRUE(upper.has_value());
  EXPECT_EQ(upper->TwinOf(0), 1) << "none is below";
  EXPECT_EQ(upper->TwinOf(2), 1);
}

TEST(GhostsTest, AGhostWhoseClassHasNoLiveMemberIsNamed) {
  const auto fold = FoldOf({.ranks = 8, .dimensions = {{.stride = 4, .size = 2}}});
  const auto ghosts = Ghosts::Of(fold, std::vector<std::uint32_t>{0, 5});

  ASSERT_FALSE(ghosts.has_value());
  EXPECT_THAT(ghosts.error().message, HasSubstr("rank 5 is mirrored"));
  EXPECT_THAT(ghosts.error().message, HasSubstr("--live 5"));
}

TEST(GhostsTest, EqualValuesAreMirrored) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = inputs[7] = Bytes(42);

  EXPECT_EQ(ghosts.Mirror(kGather, &inputs), 0u);
  for (const Payload& input : inputs) EXPECT_EQ(input, Bytes(42));
}

TEST(GhostsTest, IntegersThatGrowWithTheRankGoOn) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = Bytes(100);
  inputs[7] = Bytes(100 - 3 * 7);

  EXPECT_EQ(ghosts.Mirror(kGather, &inputs), 0u);
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(inputs[static_cast<std::size_t>(rank)], Bytes(100 - 3 * rank));
  }
}

TEST(GhostsTest, WhatFollowsNoRuleIsMirroredAndCounted) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[0] = Bytes(0);
  inputs[7] = Bytes(5);  // Not a whole step for each of seven ranks.

  EXPECT_EQ(ghosts.Mirror(kGather, &inputs), 6u);
  EXPECT_EQ(inputs[3], Bytes(0));

  Operation floats = kGather;
  floats.data_type = kFloat64;
  inputs.assign(8, std::nullopt);
  inputs[0] = Bytes(0);
  inputs[7] = Bytes(7);
  EXPECT_EQ(ghosts.Mirror(floats, &inputs), 6u);
}

TEST(GhostsTest, UnknownValuesStayUnknown) {
  const Ghosts ghosts = WorldOf(FoldOf({.ranks = 8}));
  std::vector<Payload> inputs(8);
  inputs[7] = Bytes(1);

  EXPECT_EQ(ghosts.Mirror(kGather, &inputs), 0u);
  EXPECT_FALSE(inputs[3].has_value());
}

}  // namespace
}  // namespace eidolon::network::communicator
