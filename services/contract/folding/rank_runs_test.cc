#include "services/contract/folding/rank_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace eidolon::folding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RankRunsTest, RegularGroupsAreOneRun) {
  std::vector<std::uint32_t> world(16'384);
  std::iota(world.begin(), world.end(), 0u);

  EXPECT_THAT(RunsOf(world), ElementsAre(RankRun{0, 1, 16'384}));
  EXPECT_THAT(RunsOf(std::vector<std::uint32_t>{5, 13, 21, 29}), ElementsAre(RankRun{5, 8, 4}));
  EXPECT_THAT(RunsOf(std::vector<std::uint32_t>{7}), ElementsAre(RankRun{7, 1, 1}));
  EXPECT_THAT(RunsOf(std::vector<std::uint32_t>{3, 9}), ElementsAre(RankRun{3, 6, 2}));
}

TEST(RankRunsTest, GroupsOfTwoDimensionsAreARunForEachRow) {
  EXPECT_THAT(RunsOf(std::vector<std::uint32_t>{0, 1, 2, 16, 17, 18}),
              ElementsAre(RankRun{0, 1, 3}, RankRun{16, 1, 3}));
}

TEST(RankRunsTest, WhatWasPutIntoRunsComesOutAgain) {
  const std::vector<std::vector<std::uint32_t>> groups = {
      {}, {0}, {0, 7, 8, 9}, {1, 2, 4, 8, 16, 32}, {0, 1, 8, 9, 16, 17}, {2, 3, 63}};
  for (const auto& group : groups) {
    const auto ranks = RanksOf(RunsOf(group), 64);
    ASSERT_TRUE(ranks.has_value()) << ranks.error().message;
    EXPECT_EQ(*ranks, group);
  }
}

TEST(RankRunsTest, RefusesRunsThatAreNoAscendingPartOfTheWorld) {
  const auto refusal = [](std::vector<RankRun> runs) {
    const auto ranks = RanksOf(runs, 64);
    return ranks.has_value() ? "" : ranks.error().message;
  };
  EXPECT_THAT(refusal({{0, 1, 65}}), HasSubstr("not a part of 64 ranks"));
  EXPECT_THAT(refusal({{0, 1, 0}}), HasSubstr("a run of 0 ranks"));
  EXPECT_THAT(refusal({{0, 0, 2}}), HasSubstr("in steps of 0"));
  EXPECT_THAT(refusal({{8, 1, 4}, {11, 1, 2}}), HasSubstr("from 11"));
  EXPECT_THAT(refusal({{1, 0xffffffff, 0xffffffff}}), HasSubstr("not a part"));
}

}  // namespace
}  // namespace eidolon::folding
