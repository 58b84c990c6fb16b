#include "shim/program/host_time/gap_costs.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000'000;
constexpr std::uint64_t kPlace = 0x12345, kNearPlace = 0x54322, kCoarse = 0x54324;

Gap GapOf(std::uint64_t microseconds) {
  return {.place = kPlace,
          .near_place = kNearPlace,
          .coarse_place = kCoarse,
          .work_ps = microseconds * kMicrosecond};
}

double Charged(GapCosts& costs, const Gap& gap) {
  return static_cast<double>(costs.Charge(gap).ps) / kMicrosecond;
}

// A place that was seen many times and took 10 us each.
void LearnTenMicroseconds(GapCosts& costs) {
  for (int i = 0; i < 40; ++i) costs.Charge(GapOf(10));
}

TEST(GapCostsTest, AnUnknownPlaceCostsWhatItTakes) {
  GapCosts costs;
  EXPECT_EQ(costs.Charge(GapOf(10)).ps, 10 * kMicrosecond);
  EXPECT_EQ(costs.Charge(GapOf(30)).ps, 30 * kMicrosecond);
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

// Another machine of the same hypervisor makes such moments, for more samples than are kept.
TEST(GapCostsTest, AMomentInWhichAllIsSlowerMovesTheCostLittle) {
  GapCosts costs;
  for (int i = 0; i < 20'000; ++i) costs.Charge(GapOf(10));
  for (int i = 0; i < 1'000; ++i) costs.Charge(GapOf(16));

  EXPECT_NEAR(Charged(costs, GapOf(16)), 10 * GapCosts::kOverLow, 0.1);

  for (int i = 0; i < 60'000; ++i) costs.Charge(GapOf(16));
  EXPECT_NEAR(Charged(costs, GapOf(16)), 16 * GapCosts::kOverLow, 0.1) << "it has become slower";
}

TEST(GapCostsTest, WhatIsFarBeyondAPlacesCostIsOtherWorkAndCostsWhatItTakes) {
  GapCosts costs;
  LearnTenMicroseconds(costs);

  EXPECT_EQ(costs.Charge(GapOf(20'000)).ps, 20'000 * kMicrosecond);
  EXPECT_NEAR(Charged(costs, GapOf(10)), 10 * GapCosts::kOverLow, 0.1);
}

// 11 ms of computing, and 6 ms of page faults where memory comes from the kernel anew, which were
// thought to take 3 ms.
Gap ComputingWithFaults(bool has_faults) {
  Gap gap = GapOf(has_faults ? 17'000 : 11'000);
  gap.fault_ps = has_faults ? 3'000 * kMicrosecond : 0;
  return gap;
}

TEST(GapCostsTest, PageFaultsThatOnlySomeSamplesOfALongStretchMeetAreLeftOut) {
  GapCosts mostly, rarely;
  for (int i = 0; i < 40; ++i) {
    mostly.Charge(ComputingWithFaults(i % 4 != 1));
    rarely.Charge(ComputingWithFaults(i % 4 == 1));
  }
  EXPECT_NEAR(Charged(mostly, ComputingWithFaults(true)), 11'000, 50);
  EXPECT_NEAR(Charged(rarely, ComputingWithFaults(false)), 11'000, 50);
}

TEST(GapCostsTest, PageFaultsThatEverySampleMeetsAreCharged) {
  GapCosts costs;
  for (int i = 0; i < 40; ++i) costs.Charge(ComputingWithFaults(true));
  EXPECT_NEAR(Charged(costs, ComputingWithFaults(true)), 17'000, 50);
}

TEST(GapCostsTest, PageFaultsThatBeginLaterAreLearned) {
  GapCosts costs;
  for (int i = 0; i < 40; ++i) costs.Charge(ComputingWithFaults(false));
  for (int i = 0; i < 200; ++i) costs.Charge(ComputingWithFaults(true));
  EXPECT_NEAR(Charged(costs, ComputingWithFaults(true)), 17'000, 50);
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

TEST(GapCostsTest, ANewPlaceCostsWhatItsCoarsePlaceDoes) {
  GapCosts costs;
  std::uint64_t place = 1001;
  for (int i = 0; i < 20; ++i, place += 4) {
    costs.Charge({.place = place,
                  .near_place = place + 1,
                  .coarse_place = kCoarse,
                  .work_ps = 10 * kMicrosecond});
  }
  EXPECT_NEAR(Charged(costs, {.place = place,
                              .near_place = place + 1,
                              .coarse_place = kCoarse,
                              .work_ps = 25 * kMicrosecond}),
              10 * GapCosts::kOverLow, 0.1);
}

TEST(GapCostsTest, ANewPlaceCostsWhatItsNearPlaceDoesRatherThanItsCoarseOne) {
  GapCosts costs;
  for (std::uint64_t i = 0; i < 20; ++i) {
    costs.Charge({.place = 4 * i + 1,
                  .near_place = kNearPlace,
                  .coarse_place = kCoarse,
                  .work_ps = 10 * kMicrosecond});
    costs.Charge({.place = 4 * i + 1001,
                  .near_place = 4 * i + 1002,
                  .coarse_place = kCoarse,
                  .work_ps = 30 * kMicrosecond});
  }
  EXPECT_NEAR(Charged(costs, {.place = 9001,
                              .near_place = kNearPlace,
                              .coarse_place = kCoarse,
                              .work_ps = 25 * kMicrosecond}),
              10 * GapCosts::kOverLow, 0.1);
}

TEST(GapCostsTest, MorePlacesThanTheTableHoldsAreStillCharged) {
  GapCosts costs;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::uint64_t charged = costs
                                        .Charge({.place = i * 4 + 1,
                                                 .near_place = (i * 4 + 2) << 20 | 2,
                                                 .coarse_place = (i * 4 + 4) << 20,
                                                 .work_ps = 7 * kMicrosecond})
                                        .ps;
      ASSERT_GE(charged, 7 * kMicrosecond);
      ASSERT_LE(charged, 11 * kMicrosecond);
    }
  }
}

class SharedGapCostsTest : public ::testing::Test {
 protected:
  // The costs of one rank of a server.
  struct Rank {
    explicit Rank(ring::SharedHostCost* rows) : shared(rows), costs(&shared) {}
    SharedCosts shared;
    GapCosts costs;
  };
  Rank& RankOf(std::uint32_t process) {
    auto& rank = ranks_[process];
    if (rank == nullptr) rank = std::make_unique<Rank>(rows_.get());
    return *rank;
  }
  void Work(std::uint32_t process, std::uint64_t microseconds) {
    for (int i = 0; i < 60; ++i) RankOf(process).costs.Charge(GapOf(microseconds));
  }

 private:
  std::unique_ptr<ring::SharedHostCost[]> rows_{
      std::make_unique<ring::SharedHostCost[]>(ring::kSharedHostCosts)};
  std::array<std::unique_ptr<Rank>, 8> ranks_;
};

TEST_F(SharedGapCostsTest, WhatOneRankMetByChanceIsNoSkew) {
  for (std::uint32_t rank = 0; rank < 8; ++rank) Work(rank, rank == 3 ? 24 : 20);
  for (std::uint32_t rank = 0; rank < 8; ++rank) Work(rank, rank == 3 ? 24 : 20);

  const double others = Charged(RankOf(0).costs, GapOf(20));
  EXPECT_NEAR(others, 20 * GapCosts::kOverLow, 0.2);
  EXPECT_NEAR(Charged(RankOf(3).costs, GapOf(24)), others, 0.2);
}

TEST_F(SharedGapCostsTest, ARankThatDoesMorePaysForIt) {
  for (std::uint32_t rank = 0; rank < 8; ++rank) Work(rank, rank == 0 ? 60 : 20);

  EXPECT_NEAR(Charged(RankOf(0).costs, GapOf(60)), 60 * GapCosts::kOverLow, 0.6);
  EXPECT_NEAR(Charged(RankOf(5).costs, GapOf(20)), 20 * GapCosts::kOverLow, 0.2);
}

TEST_F(SharedGapCostsTest, APlaceThatOthersKnowCostsTheirsFromTheFirstTimeOn) {
  Work(1, 20);
  EXPECT_NEAR(Charged(RankOf(2).costs, GapOf(45)), 20 * GapCosts::kOverLow, 0.2);
}

TEST(GapCostsTest, NoWorkCostsNextToNothing) {
  GapCosts costs;
  for (int i = 0; i < 20; ++i) EXPECT_LE(costs.Charge(GapOf(0)).ps, 1u);
}

}  // namespace
}  // namespace eidolon::shim::host_time
