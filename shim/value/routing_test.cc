#include "shim/value/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace eidolon::shim::value {
namespace {

ring::Declaration Routing(std::uint64_t experts, std::uint64_t tokens, std::uint64_t top_k) {
  return {.kind = ring::DeclarationKind::kCounts,
          .number = 1,
          .type = ring::ElementType::kInt64,
          .experts = experts,
          .tokens = tokens,
          .top_k = top_k,
          .seed = 7};
}

std::vector<std::uint64_t> Count(const std::vector<std::uint32_t>& indices, std::uint64_t experts) {
  std::vector<std::uint64_t> counts(experts, 0);
  for (const std::uint32_t expert : indices) ++counts.at(expert);
  return counts;
}

std::uint64_t Sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(RoutingTest, EveryTokenChoosesDifferentExperts) {
  ring::Declaration routing = Routing(8, 500, 3);
  for (const bool skewed : {false, true}) {
    if (skewed) routing.shares = {{4'000'000'000u, 1, 0, 0, 0, 0, 0, 0}};
    const std::vector<std::uint32_t> indices = DrawIndices(routing, {});
    ASSERT_EQ(indices.size(), 1500u);
    for (std::size_t i = 0; i < indices.size(); i += 3) {
      const std::set<std::uint32_t> chosen(indices.begin() + static_cast<std::ptrdiff_t>(i),
                                           indices.begin() + static_cast<std::ptrdiff_t>(i) + 3);
      EXPECT_EQ(chosen.size(), 3u);
      EXPECT_LT(*chosen.rbegin(), 8u);
    }
  }
}

TEST(RoutingTest, DrawsFollowTheShares) {
  ring::Declaration routing = Routing(4, 10'000, 1);
  routing.shares = {{600, 300, 100, 0}};

  const auto counts = Count(DrawIndices(routing, {}), 4);

  EXPECT_NEAR(static_cast<double>(counts[0]), 6000, 250);
  EXPECT_NEAR(static_cast<double>(counts[1]), 3000, 250);
  EXPECT_NEAR(static_cast<double>(counts[2]), 1000, 250);
  EXPECT_EQ(counts[3], 0u);
}

TEST(RoutingTest, SeedRankAndCallDecideTheDrawAndNothingElse) {
  ring::Declaration routing = Routing(16, 200, 2);
  const auto first = DrawIndices(routing, {.rank = 1, .call = 5});

  EXPECT_EQ(DrawIndices(routing, {.rank = 1, .call = 5}), first);
  EXPECT_NE(DrawIndices(routing, {.rank = 0, .call = 5}), first);
  EXPECT_NE(DrawIndices(routing, {.rank = 1, .call = 6}), first);
  routing.seed = 8;
  EXPECT_NE(DrawIndices(routing, {.rank = 1, .call = 5}), first);
}

TEST(RoutingTest, CountsAddUpAndNoExpertGetsATokenTwice) {
  const std::vector<std::vector<std::vector<std::uint32_t>>> all_shares = {
      {}, {{1, 2, 3, 4, 5, 6, 7}}, {{1'000'000, 1, 0, 0, 0, 0, 0}}, {{9, 9, 9, 1, 0, 0, 0}}};
  for (const auto& shares : all_shares) {
    for (const std::uint64_t top_k : {1u, 2u, 7u}) {
      ring::Declaration routing = Routing(7, 1001, top_k);
      routing.shares = shares;
      const auto counts = DrawCounts(routing, {.rank = 3});
      EXPECT_EQ(Sum(counts), 1001 * top_k);
      EXPECT_LE(*std::ranges::max_element(counts), 1001u);
    }
  }
}

TEST(RoutingTest, CountsOfAFileThatAddUpAreGivenAsTheyAreRowAfterRow) {
  ring::Declaration routing = Routing(3, 100, 1);
  routing.shares = {{20, 30, 50}, {1, 0, 99}};

  EXPECT_EQ(DrawCounts(routing, {.call = 0}), (std::vector<std::uint64_t>{20, 30, 50}));
  EXPECT_EQ(DrawCounts(routing, {.call = 1}), (std::vector<std::uint64_t>{1, 0, 99}));
  EXPECT_EQ(DrawCounts(routing, {.call = 2}), (std::vector<std::uint64_t>{20, 30, 50}));
}

}  // namespace
}  // namespace eidolon::shim::value
