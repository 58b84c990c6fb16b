#include "services/controller/job/band.h"

#include <gtest/gtest.h>

namespace eidolon::controller::job {
namespace {

constexpr double kNinetyPercent = 1.645;

TEST(BandTest, WithoutErrorsItIsThePrediction) {
  const Band band = BandOf(0, 0, {.length = 10, .gaps = 2, .idle = 1, .work = 8});
  EXPECT_DOUBLE_EQ(band.low, 10);
  EXPECT_DOUBLE_EQ(band.high, 10);
}

TEST(BandTest, ErrorsOfEstimatesReachEquallyFarToBothSides) {
  const Band band = BandOf(1, 0, {.length = 10, .gaps = 2, .idle = 1, .work = 8});
  EXPECT_DOUBLE_EQ(band.low, 10 - kNinetyPercent);
  EXPECT_DOUBLE_EQ(band.high, 10 + kNinetyPercent);
}

TEST(BandTest, WhereTheHostHardlyWorksOnlyItsGapsCount) {
  const Band band = BandOf(0, 0.2, {.length = 10, .gaps = 0.5, .idle = 0.1, .work = 2});
  EXPECT_DOUBLE_EQ(band.high, 10 + 0.5 * 0.2 * kNinetyPercent);
  EXPECT_DOUBLE_EQ(band.low, 10 - 0.5 * 0.2 * kNinetyPercent);
}

// The GPU is busy for 8 of 10 s, and yet a host that is slower by a third makes the step 13.3 s.
TEST(BandTest, AStepGrowsWithAllWorkOfAHostThatNeverWaits) {
  const Band band =
      BandOf(0, 1.0 / 3 / kNinetyPercent, {.length = 10, .gaps = 2, .idle = 0, .work = 10});
  EXPECT_NEAR(band.high, 10 + 10.0 / 3, 1e-9);
  EXPECT_NEAR(band.low, 8, 1e-9) << "the GPU's own work remains";
}

TEST(BandTest, AHostThatWaitedSinceTheGpuWasSlowerHasThatMuchToSpare) {
  const HostPart host = {.length = 10, .gaps = 0.2, .idle = 0.3, .work = 7};
  EXPECT_NEAR(BandOf(0, 0.6 / kNinetyPercent, host).high, 11.2, 1e-9);
  EXPECT_NEAR(BandOf(0, 0.3 / kNinetyPercent, host).high, 10.06, 1e-9);
  EXPECT_NEAR(BandOf(0, 0.6 / kNinetyPercent, host).low, 9.5, 1e-9);
}

TEST(BandTest, WorkOfSeveralThreadsIsNoMoreThanTheStep) {
  const HostPart host = {.length = 10, .gaps = 1, .idle = 0, .work = 15};
  EXPECT_NEAR(BandOf(0, 0.1 / kNinetyPercent, host).high, 11, 1e-9);
}

TEST(BandTest, BothErrorsAddUpAsSquares) {
  const HostPart host = {.length = 10, .gaps = 4, .idle = 0, .work = 10};
  EXPECT_NEAR(BandOf(3 / kNinetyPercent, 0.4 / kNinetyPercent, host).high, 15, 1e-9);
  EXPECT_NEAR(BandOf(3 / kNinetyPercent, 0.4 / kNinetyPercent, host).low, 5, 1e-9);
}

}  // namespace
}  // namespace eidolon::controller::job
