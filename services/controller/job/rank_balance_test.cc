#include "services/controller/job/rank_balance.h"

#include <gtest/gtest.h>

#include "services/controller/job/measurement.h"

namespace eidolon::controller::job {
namespace {

constexpr std::uint64_t kBalancedMs = 1'000'000'000;  // Picoseconds.

// The iteration takes 10 ms, the rest of which the rank communicates.
RankIteration OwnOf(std::int32_t rank, std::uint32_t index, std::uint64_t own_ms) {
  RankIteration iteration;
  iteration.rank = rank;
  iteration.index = index;
  iteration.start_ps = index * 10 * kBalancedMs;
  iteration.end_ps = (index + 1) * 10 * kBalancedMs;
  iteration.breakdown = {.compute = (own_ms - 2) * kBalancedMs,
                         .exposed_communication = (10 - own_ms) * kBalancedMs,
                         .idle = kBalancedMs,
                         .host = kBalancedMs};
  return iteration;
}

TEST(RankBalanceTest, NamesTheRankThatDoesMostAndByHowMuchTheSlowestExceedsTheMean) {
  Measurement measurement({.ranks = 2, .warmup = 0, .measure = 2});

  for (const std::uint32_t index : {0u, 1u}) {
    measurement.Add(OwnOf(0, index, 6));
    measurement.Add(OwnOf(1, index, 9));
  }

  const RankBalance balance = measurement.Predict().balance.value();
  EXPECT_EQ(balance.ranks, 2u);
  EXPECT_EQ(balance.slowest, 1);
  EXPECT_NEAR(balance.slowest_seconds, 0.009, 1e-12);
  EXPECT_NEAR(balance.mean_seconds, 0.0075, 1e-12);
  EXPECT_NEAR(balance.excess_seconds, 0.0015, 1e-12);
}

TEST(RankBalanceTest, RanksThatTakeTurnsExceedTheMeanInEachIteration) {
  Measurement measurement({.ranks = 2, .warmup = 0, .measure = 2});

  measurement.Add(OwnOf(0, 0, 6));
  measurement.Add(OwnOf(1, 0, 9));
  measurement.Add(OwnOf(0, 1, 9));
  measurement.Add(OwnOf(1, 1, 6));

  const RankBalance balance = measurement.Predict().balance.value();
  EXPECT_NEAR(balance.slowest_seconds, balance.mean_seconds, 1e-12);
  EXPECT_NEAR(balance.excess_seconds, 0.0015, 1e-12);
}

TEST(RankBalanceTest, MirroredRanksCountAsTheOneThatTheyMirror) {
  Measurement measurement(
      {.ranks = 2, .gpus = 4, .warmup = 0, .measure = 1, .weights = {{0, 3}, {1, 1}}});

  measurement.Add(OwnOf(0, 0, 6));
  measurement.Add(OwnOf(1, 0, 9));

  EXPECT_NEAR(measurement.Predict().balance->mean_seconds, 0.00675, 1e-12);
}

}  // namespace
}  // namespace eidolon::controller::job
