#include "services/controller/job/assumed_work.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "services/controller/job/measurement.h"

namespace eidolon::controller::job {
namespace {

constexpr std::uint64_t kTerabyte = 1'000'000'000'000;
constexpr std::uint64_t kMs = 1'000'000'000;  // Picoseconds.

std::vector<AllocatedMemory> TwoGigabytesAt(std::uint64_t bytes_per_second) {
  return {{.bytes = 1'000'000'000, .bytes_per_second = bytes_per_second},
          {.bytes = 2'000'000'000, .bytes_per_second = bytes_per_second}};
}

TEST(AssumedWorkTest, ALaunchMovesAllThatIsAllocatedAtMost) {
  const AssumedWork work = BoundAssumed(3, 6e-6, TwoGigabytesAt(2 * kTerabyte));

  EXPECT_EQ(work.bytes_max, 2'000'000'000u);
  EXPECT_DOUBLE_EQ(work.seconds_max, 3e-3) << "1 ms each";
  EXPECT_DOUBLE_EQ(work.seconds, 6e-6);
}

TEST(AssumedWorkTest, NothingIsShorterThanItsGuessAndNothingBoundsWithoutABandwidth) {
  EXPECT_DOUBLE_EQ(BoundAssumed(1, 1.0, TwoGigabytesAt(2 * kTerabyte)).seconds_max, 1.0);
  EXPECT_DOUBLE_EQ(BoundAssumed(3, 6e-6, TwoGigabytesAt(0)).seconds_max, 6e-6);
  EXPECT_DOUBLE_EQ(BoundAssumed(0, 0, TwoGigabytesAt(kTerabyte)).seconds_max, 0);
}

// A kernel that lasts 763 us is guessed at 2 us: the band holds the truth all the same.
TEST(AssumedWorkTest, TheBandHoldsALaunchThatWasGuessedMuchTooShort) {
  Measurement measurement({.ranks = 1, .warmup = 0, .measure = 2});
  for (std::uint32_t index = 0; index < 2; ++index) {
    RankIteration iteration;
    iteration.index = index;
    iteration.start_ps = index * kMs;
    iteration.end_ps = (index + 1) * kMs;
    iteration.breakdown = {.compute = kMs};
    iteration.coverage = {.modelled = kMs - 2'000'000, .assumed = 2'000'000};
    iteration.assumed_launches = 1;
    measurement.Add(iteration);
  }
  ServerUsage usage;
  usage.memory = {
      {.rank = 0, .allocations_bytes = 4'000'000'000, .bytes_per_second = 2 * kTerabyte}};
  measurement.SetUsage(0, usage);

  const nlohmann::json prediction = ToJson(measurement.Predict());

  EXPECT_DOUBLE_EQ(prediction["iterationSeconds"]["mean"].get<double>(), 1e-3);
  EXPECT_DOUBLE_EQ(prediction["iterationSeconds"]["low"].get<double>(), 1e-3);
  EXPECT_NEAR(prediction["iterationSeconds"]["high"].get<double>(), 3e-3 - 2e-6, 1e-12);
  EXPECT_NEAR(prediction["steadyIteration"]["high"].get<double>(), 3e-3 - 2e-6, 1e-12);
  EXPECT_EQ(prediction["assumedWork"]["launches"], 1);
  EXPECT_EQ(prediction["assumedWork"]["bytesMax"], 4'000'000'000);
  EXPECT_DOUBLE_EQ(prediction["assumedWork"]["secondsMax"].get<double>(), 2e-3);
}

}  // namespace
}  // namespace eidolon::controller::job
