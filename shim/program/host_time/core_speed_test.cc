#include "shim/program/host_time/core_speed.h"

#include <gtest/gtest.h>

namespace eidolon::shim::host_time {
namespace {

// Time of the next runs, and how often the probe ran.
std::uint64_t run_ps = 0;
std::uint64_t arithmetic_ps = 0;
int runs = 0;

std::uint64_t TimeOfTest(host_speed::Probe& probe) {
  EXPECT_TRUE(static_cast<bool>(probe));
  ++runs;
  return run_ps;
}

std::uint64_t TimeOfArithmetic() { return arithmetic_ps; }

class CoreSpeedTest : public ::testing::Test {
 protected:
  CoreSpeedTest() : speed_({.probe = TimeOfTest, .arithmetic = TimeOfArithmetic}) { runs = 0; }

  void SampleAt(double speed, double of_arithmetic = 1) {
    run_ps = static_cast<std::uint64_t>(static_cast<double>(host_speed::kReferenceRun.ps) / speed);
    arithmetic_ps = static_cast<std::uint64_t>(
        static_cast<double>(host_speed::kReferenceArithmetic.ps) / of_arithmetic);
    speed_.Sample();
  }
  CoreSpeed speed_;
};

TEST_F(CoreSpeedTest, IsOneBeforeTheFirstSample) {
  EXPECT_EQ(speed_.now(), 1.0);
  EXPECT_EQ(speed_.of_arithmetic(), 1.0);
}

TEST_F(CoreSpeedTest, ANeighbourThatFillsTheCachesDoesNotSlowArithmetic) {
  for (int i = 0; i < 7; ++i) SampleAt(1.5, 1.1);
  for (int i = 0; i < 7; ++i) SampleAt(0.8, 1.1);

  EXPECT_NEAR(speed_.now(), 0.8, 1e-6);
  EXPECT_NEAR(speed_.of_arithmetic(), 1.1, 1e-6);
}

TEST_F(CoreSpeedTest, EverySampleTakesTheSameRuns) {
  SampleAt(1.2);
  EXPECT_EQ(runs, CoreSpeed::kRuns);
  SampleAt(1.2);
  EXPECT_EQ(runs, 2 * CoreSpeed::kRuns);
  EXPECT_NEAR(speed_.now(), 1.2, 1e-6);
}

TEST_F(CoreSpeedTest, FollowsTheMedianSoThatOneSlowSampleChangesLittle) {
  for (int i = 0; i < 7; ++i) SampleAt(1.0);
  SampleAt(0.3);
  EXPECT_NEAR(speed_.now(), 1.0, 1e-6);

  for (int i = 0; i < 4; ++i) SampleAt(0.6);
  EXPECT_NEAR(speed_.now(), 0.6, 1e-6);
}

TEST_F(CoreSpeedTest, IsNewUntilItHasAllSamples) {
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(speed_.IsNew()) << i;
    SampleAt(1);
  }
  EXPECT_FALSE(speed_.IsNew());
}

}  // namespace
}  // namespace eidolon::shim::host_time
