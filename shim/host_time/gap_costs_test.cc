#include "shim/host_time/gap_costs.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000'000;
constexpr std::uint64_t kPlace = 0x12345, kCoarse = 0x54320;

Gap GapOf(std::uint64_t microseconds, bool disturbed = false) {
  return {.place = kPlace,
          .coarse_place = kCoarse,
          .work_ps = microseconds * kMicrosecond,
          .disturbed = disturbed};
}

double Charged(GapCosts& costs, const Gap& gap) {
  return static_cast<double>(costs.Charge(gap)) / kMicrosecond;
}

// A place that was seen many times and took 10 us each.
void LearnTenMicroseconds(GapCosts& costs) {
  for (int i = 0; i < 40; ++i) costs.Charge(GapOf(10));
}

TEST(GapCostsTest, AnUnknownPlaceCostsWhatItTakes) {
  GapCosts costs;
  EXPECT_EQ(costs.Charge(GapOf(10)), 10 * kMicrosecond);
  EXPECT_EQ(costs.Charge(GapOf(30)), 30 * kMicrosecond);
}

TEST(GapCostsTest, AKnownPlaceCostsTheSameHoweverLongThisTimeTook) {
  GapCosts costs;
  LearnTenMicroseconds(costs);

  const double expected = 10 * GapCosts::kOverLow;
  EXPECT_NEAR(Charged(costs, GapOf(10)), expected, 0.1);
  EXPECT_NEAR(Charged(costs, GapOf(35)), expected, 0.1);
  EXPECT_NEAR(Charged(costs, GapOf(4)), expected, 0.1);
}

TEST(GapCostsTest, NoiseOfTheMachineMovesTheCostLittle) {
  GapCosts quiet, noisy;
  for (int i = 0; i < 400; ++i) {
    quiet.Charge(GapOf(10 + i % 3));
    noisy.Charge(GapOf(10 + i % 3 + (i % 4 == 0 ? 25 : 0)));
  }
  EXPECT_NEAR(Charged(noisy, GapOf(10)), Charged(quiet, GapOf(10)),
              0.08 * Charged(quiet, GapOf(10)));
}

TEST(GapCostsTest, WhatIsFarBeyondAPlacesCostIsOtherWorkAndCostsWhatItTakes) {
  GapCosts costs;
  LearnTenMicroseconds(costs);

  EXPECT_EQ(costs.Charge(GapOf(20'000)), 20'000 * kMicrosecond);
  EXPECT_NEAR(Charged(costs, GapOf(10)), 10 * GapCosts::kOverLow, 0.1);
}

TEST(GapCostsTest, WorkThatHasChangedForGoodIsLearnedAnew) {
  GapCosts costs;
  LearnTenMicroseconds(costs);
  for (int i = 0; i < 100; ++i) costs.Charge(GapOf(30));

  EXPECT_NEAR(Charged(costs, GapOf(30)), 30 * GapCosts::kOverLow, 0.3);
}

TEST(GapCostsTest, LongStretchesCostTheirMedian) {
  GapCosts costs;
  for (int i = 0; i < 60; ++i) costs.Charge(GapOf(5000 + 100 * (i % 11)));

  EXPECT_NEAR(Charged(costs, GapOf(5000)), 5500, 250);
}

TEST(GapCostsTest, DisturbedSamplesCountOnlyWhereThereAreNoOthers) {
  GapCosts mixed;
  for (int i = 0; i < 40; ++i) mixed.Charge(GapOf(i % 2 == 0 ? 10 : 3, i % 2 != 0));
  EXPECT_NEAR(Charged(mixed, GapOf(10)), 10 * GapCosts::kOverLow, 0.1);

  GapCosts only_disturbed;
  for (int i = 0; i < 8; ++i) only_disturbed.Charge(GapOf(20 + i, true));
  EXPECT_NEAR(Charged(only_disturbed, GapOf(60, true)), 24, 0.3);  // The best of the last four.
}

TEST(GapCostsTest, ANewPlaceCostsWhatItsCoarsePlaceDoes) {
  GapCosts costs;
  std::uint64_t place = 1001;
  for (int i = 0; i < 20; ++i, place += 2) {
    costs.Charge({.place = place, .coarse_place = kCoarse, .work_ps = 10 * kMicrosecond});
  }
  EXPECT_NEAR(
      Charged(costs, {.place = place, .coarse_place = kCoarse, .work_ps = 25 * kMicrosecond}),
      10 * GapCosts::kOverLow, 0.1);
}

TEST(GapCostsTest, MorePlacesThanTheTableHoldsAreStillCharged) {
  GapCosts costs;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::uint64_t charged = costs.Charge(
          {.place = i * 2 + 1, .coarse_place = (i * 2 + 2) << 20, .work_ps = 7 * kMicrosecond});
      ASSERT_GE(charged, 7 * kMicrosecond);
      ASSERT_LE(charged, 11 * kMicrosecond);
    }
  }
}

TEST(GapCostsTest, NoWorkCostsNextToNothing) {
  GapCosts costs;
  for (int i = 0; i < 20; ++i) EXPECT_LE(costs.Charge(GapOf(0)), 1u);
}

}  // namespace
}  // namespace eidolon::shim::host_time
