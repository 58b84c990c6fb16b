#include "services/agent/iteration/split.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/random.h"

namespace eidolon::agent::iteration {
namespace {

using base::Duration;
using base::SimTime;

SimTime Microseconds(std::int64_t us) { return {us * 1'000'000}; }
Duration Long(std::int64_t us) { return Duration::Microseconds(us); }

Interval Compute(std::int64_t start, std::int64_t end, bool host_bound = false,
                 std::uint32_t basis = 0) {
  return {.start = Microseconds(start),
          .end = Microseconds(end),
          .basis = basis,
          .host_bound = host_bound};
}
Interval Communication(std::int64_t start, std::int64_t end) {
  return {.start = Microseconds(start),
          .end = Microseconds(end),
          .basis = 1,
          .activity = Activity::kCommunication};
}
const std::vector<Basis> kSplitBases{
    {.source = estimate::Source::kModelled, .relative_error = 0.1f, .family = 1},
    {.source = estimate::Source::kModelled, .relative_error = 0.2f, .family = 2},
    {.source = estimate::Source::kAssumed, .relative_error = 0.5f, .family = 3, .name = 7}};

TEST(SplitTest, NamesEveryMomentOnce) {
  const std::vector<Interval> intervals{Compute(10, 30, true), Communication(20, 50),
                                        Compute(60, 70)};

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(80), .ends_by_host = true},
                  intervals, kSplitBases);

  EXPECT_EQ(split.breakdown, (Breakdown{.compute = Long(30),
                                        .exposed_communication = Long(20),
                                        .idle = Long(10),
                                        .host = Long(20)}))
      << "host: before 10 and after 70; idle: 50 to 60";
}

TEST(SplitTest, SumsEnergyAndKeepsTheHighestPower) {
  std::vector<Interval> intervals{Compute(10, 30), Communication(20, 50), Compute(60, 70)};
  intervals[0].microjoules = 7;
  intervals[0].milliwatts = 500'000;
  intervals[2].microjoules = 4;
  intervals[2].milliwatts = 400'000;

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(80)}, intervals, kSplitBases);

  EXPECT_EQ(split.microjoules, 11u);
  EXPECT_EQ(split.milliwatts, 500'000u);
}

TEST(SplitTest, SumsTheOperationsOfEachBasis) {
  const std::vector<Interval> intervals{Compute(10, 30), Communication(20, 50), Compute(60, 65),
                                        Compute(70, 70, false, 2)};

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(80)}, intervals, kSplitBases);

  EXPECT_EQ(split.times, (std::vector<BasisTime>{
                             {.basis = 0, .time = Long(25), .shortest = Long(5), .count = 2},
                             {.basis = 1, .time = Long(30), .shortest = Long(30), .count = 1},
                             {.basis = 2, .time = Long(0), .shortest = Long(0), .count = 1}}))
      << "what takes no time is listed too";
}

TEST(SplitTest, CutsWhatReachesOutOfTheWindow) {
  const std::vector<Interval> intervals{Compute(0, 30), Communication(90, 200)};

  const Split split =
      SplitWindow({.start = Microseconds(10), .end = Microseconds(100)}, intervals, kSplitBases);

  EXPECT_EQ(split.breakdown,
            (Breakdown{.compute = Long(20), .exposed_communication = Long(10), .idle = Long(60)}));
}

TEST(SplitTest, TheFourPartsAlwaysAddUp) {
  base::Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 30; ++i) {
      const auto start = static_cast<std::int64_t>(random.Below(1'000));
      const auto end = start + static_cast<std::int64_t>(random.Below(60));
      intervals.push_back(random.Below(2) == 0 ? Compute(start, end, random.Below(2) == 0)
                                               : Communication(start, end));
    }
    const Breakdown b =
        SplitWindow({.start = Microseconds(100), .end = Microseconds(900)}, intervals, kSplitBases)
            .breakdown;

    ASSERT_EQ(b.compute + b.exposed_communication + b.idle + b.host, Long(800)) << round;
  }
}

TEST(SplitTest, SumsBusyTimeBySourceAndNamesWhatWasAssumed) {
  const std::vector<Interval> intervals{Compute(0, 10), Compute(10, 14, false, 2),
                                        Communication(20, 50)};

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(50)}, intervals, kSplitBases);

  EXPECT_EQ(split.busy_by_source[static_cast<int>(estimate::Source::kModelled)], Long(40));
  EXPECT_EQ(split.busy_by_source[static_cast<int>(estimate::Source::kAssumed)], Long(4));
  ASSERT_EQ(split.assumed.size(), 1u);
  EXPECT_EQ(split.assumed[0].name, 7u);
}

TEST(SplitTest, ErrorsOfOneFamilyAddAndOfDifferentFamiliesDoNot) {
  // Family 1: two kernels of 50 us at 10 %: 10 us. Family 2: 50 us exposed at 20 %: 10 us.
  const std::vector<Interval> intervals{Compute(0, 50), Compute(50, 100), Communication(100, 150)};

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(150)}, intervals, kSplitBases);

  EXPECT_NEAR(split.error.Seconds() * 1e6, 14.142, 0.001);
}

TEST(SplitTest, HiddenCommunicationAddsNoError) {
  const std::vector<Interval> intervals{Compute(0, 100), Communication(0, 100)};

  const Split split =
      SplitWindow({.start = Microseconds(0), .end = Microseconds(100)}, intervals, kSplitBases);

  EXPECT_NEAR(split.error.Seconds() * 1e6, 10.0, 0.001);
}

}  // namespace
}  // namespace eidolon::agent::iteration
