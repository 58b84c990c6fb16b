#include "services/controller/job/found_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

using folding::Dimension;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Dimension kStages = {.stride = 4, .size = 2};
constexpr Dimension kHalves = {.stride = 8, .size = 2};

Verdict Differ() { return {Phase::kFailed, std::string(reason::kRanksDiffer), "rank 0 sends"}; }

TEST(FoundClassesTest, WhatIsNewIsAddedToWhatIsKnown) {
  const auto found =
      FindClasses(Differ(), std::vector{kStages}, std::vector{kStages, kHalves, kHalves});

  ASSERT_TRUE(found);
  EXPECT_THAT(found->dimensions, ElementsAre(kStages, kHalves));
  EXPECT_THAT(found->message, HasSubstr("steps of 8 (2 positions)"));
  EXPECT_THAT(found->message, HasSubstr("rank 0 sends"));
}

TEST(FoundClassesTest, TheVerdictStandsWhereNothingNewWasFound) {
  EXPECT_FALSE(FindClasses(Differ(), std::vector{kStages}, std::vector{kStages}));
  EXPECT_FALSE(FindClasses(Differ(), {}, {}));
  EXPECT_FALSE(FindClasses({Phase::kFailed, std::string(reason::kCommandFailed), ""}, {},
                           std::vector{kStages}));
}

TEST(FoundClassesTest, SixWaysToTellRanksApartAreTheMost) {
  std::vector<Dimension> known;
  for (std::uint32_t stride = 1; known.size() < 5; stride *= 2) known.push_back({stride, 2});
  EXPECT_TRUE(FindClasses(Differ(), known, std::vector<Dimension>{{64, 2}}));

  EXPECT_FALSE(FindClasses(Differ(), known, std::vector<Dimension>{{64, 2}, {128, 2}}));
}

TEST(FoundClassesTest, AStatusKeepsThem) {
  const std::vector<Dimension> dimensions = {kStages, kHalves};

  EXPECT_EQ(DimensionsFromJson(ToJson(dimensions)), dimensions);
}

TEST(FoundClassesTest, EntriesOfAnotherShapeAreLeftOut) {
  const json list = {{{"stride", 4}, {"size", 2}},
                     {{"stride", 0}, {"size", 2}},
                     {{"stride", "4"}, {"size", 2}},
                     {{"stride", 4}},
                     {{"stride", std::int64_t{1} << 33}, {"size", 2}},
                     7};

  EXPECT_THAT(DimensionsFromJson(list), ElementsAre(kStages));
  EXPECT_TRUE(DimensionsFromJson(json()).empty());
}

}  // namespace
}  // namespace eidolon::controller::job
