#include "services/agent/job/gpu_variation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace eidolon::agent::job {
namespace {

std::vector<std::int32_t> AllOf(std::uint32_t ranks, std::uint32_t per_server, std::uint64_t seed) {
  std::vector<std::int32_t> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all.push_back(SlownessOf({.rank = rank, .ranks = ranks, .ranks_per_server = per_server}, seed));
  }
  return all;
}

double StandardDeviation(const std::vector<std::int32_t>& values) {
  double sum = 0, squares = 0;
  for (const std::int32_t value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / count - sum / count * (sum / count));
}

TEST(GpuVariationTest, ALoneRankHasAnAverageGpu) {
  EXPECT_EQ(SlownessOf({.rank = 0, .ranks = 1, .ranks_per_server = 8}, 7), 0);
  EXPECT_EQ(SlowestOf({.rank = 0, .ranks = 1, .ranks_per_server = 8}), 0);
}

TEST(GpuVariationTest, ASeedDealsTheSameGpusOutInItsOwnOrder) {
  const auto first = AllOf(8, 8, 1);
  const auto second = AllOf(8, 8, 2);

  EXPECT_EQ(first, AllOf(8, 8, 1));
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::ranges::is_permutation(first, second));
}

TEST(GpuVariationTest, RanksDifferAsGpusOfPerlmutterDo) {
  const auto all = AllOf(4096, 4, 3);

  EXPECT_NEAR(StandardDeviation(all), std::hypot(10'300, 2'100), 150);
  double mean = 0;
  for (const std::int32_t value : all) mean += value / 4096.0;
  EXPECT_NEAR(mean, 0, 5);
  // Between servers: means of four differ by more than chance lets them.
  std::vector<std::int32_t> means;
  for (std::size_t i = 0; i < all.size(); i += 4) {
    means.push_back((all[i] + all[i + 1] + all[i + 2] + all[i + 3]) / 4);
  }
  EXPECT_NEAR(StandardDeviation(means), std::hypot(10'300 / 2.0, 2'100), 300);
}

// Means of the largest of n standard normal numbers: David and Nagaraja, Order Statistics, 2003.
TEST(GpuVariationTest, TheSlowestOfNIsAsSlowAsExpected) {
  const struct {
    std::uint32_t ranks;
    double largest;
  } cases[] = {{2, 0.5642}, {4, 1.0294}, {8, 1.4236}, {100, 2.5076}, {1000, 3.2414}};
  for (const auto& [ranks, largest] : cases) {
    const double one_server = SlowestOf({.ranks = ranks, .ranks_per_server = ranks});
    EXPECT_NEAR(one_server / 10'300, largest, largest * 0.05) << ranks;
  }
}

TEST(GpuVariationTest, LiveRanksOfAFoldedJobAreAsSlowAsTheSlowestOfAWholeOne) {
  for (const std::uint32_t ranks : {8u, 128u}) {
    double mean = 0;
    constexpr int kSeeds = 20;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      mean += std::ranges::max(AllOf(ranks, 8, seed)) / static_cast<double>(kSeeds);
    }
    const double folded = SlowestOf({.ranks = ranks, .ranks_per_server = 8});
    EXPECT_NEAR(mean, folded, folded * 0.05) << ranks;
  }
}

}  // namespace
}  // namespace eidolon::agent::job
