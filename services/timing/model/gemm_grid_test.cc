#include "services/timing/model/gemm_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/base/random.h"

namespace eidolon::timing::model {
namespace {

bool LargerInNone(std::size_t a, std::size_t b) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (GemmGrid::Steps(a, axis) > GemmGrid::Steps(b, axis)) return false;
  }
  return true;
}

// Grows by a third with each step of a size, with a slow choice of kernel for some short ones.
GemmGrid Uneven() {
  base::Random random(20261122);
  GemmGrid grid;
  for (std::size_t cell = 0; cell < GemmGrid::kCells; ++cell) {
    double octaves = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      octaves += static_cast<double>(GemmGrid::Steps(cell, axis));
    }
    grid[cell] = std::log(5e-6) + 0.3 * octaves;
    if (octaves < 5 && random.Below(4) == 0) grid[cell] += 0.6;
  }
  return grid;
}

constexpr Growth kGrowth = {.dip = 0.3, .grows_from = 2e-5};

TEST(GemmGrowthTest, MeasuresHowFarLargerGemmsFallShort) {
  const std::vector<GemmSample> samples = {{1, 256, 256, 256, 8e-6},   {1, 256, 512, 256, 6e-6},
                                           {1, 512, 512, 256, 9e-6},   {2, 512, 512, 256, 8.9e-6},
                                           {1, 256, 256, 512, 7.5e-6}, {1, 256, 512, 512, 6e-6}};
  const Growth growth = MeasureGrowth(samples);

  EXPECT_NEAR(growth.dip, 0.2, 1e-9);           // Of 7.5 us; 8 us alone fall further.
  EXPECT_NEAR(growth.grows_from, 8e-6, 1e-12);  // From 9 us on only by noise.
}

TEST(GemmGrowthTest, WhatFallsByNoiseOrOnceGrows) {
  const Growth noise = MeasureGrowth({{1, 256, 256, 256, 8e-6}, {1, 256, 512, 256, 7.8e-6}});
  const Growth once = MeasureGrowth({{1, 256, 256, 256, 8e-6}, {1, 256, 512, 256, 6e-6}});

  EXPECT_EQ(noise.dip, 0);
  EXPECT_EQ(noise.grows_from, 0);
  EXPECT_EQ(once.dip, 0);
}

TEST(GemmGrowthTest, GrowingGrowsAndLeavesWhatGrew) {
  const GemmGrid growing = Uneven().Growing();
  for (std::size_t a = 0; a < GemmGrid::kCells; ++a) {
    for (std::size_t b = 0; b < GemmGrid::kCells; ++b) {
      if (LargerInNone(a, b)) {
        ASSERT_LE(growing[a], growing[b] + 1e-12) << a << " " << b;
      }
    }
  }
  EXPECT_NEAR(growing[GemmGrid::kCells - 1], Uneven()[GemmGrid::kCells - 1], 1e-9);
}

TEST(GemmGrowthTest, DipsNoFurtherThanAllowedAndOnlyWhereShort) {
  const GemmGrid uneven = Uneven();
  GemmGrid growing = uneven.Growing();
  const GemmGrid dipping = uneven.Dipping(growing, kGrowth);
  growing.KeepAbove(dipping, kGrowth.dip);
  double deepest = 0;
  for (std::size_t a = 0; a < GemmGrid::kCells; ++a) {
    for (std::size_t b = 0; b < GemmGrid::kCells; ++b) {
      if (!LargerInNone(a, b)) continue;
      const double dip = -std::expm1(dipping[b] - dipping[a]);
      deepest = std::max(deepest, dip);
      ASSERT_LE(dip, kGrowth.dip + 1e-9) << a << " " << b;
      ASSERT_LE(-std::expm1(growing[b] - dipping[a]), kGrowth.dip + 1e-9) << a << " " << b;
      if (std::exp(dipping[a]) > kGrowth.grows_from * (1 + 1e-9)) {
        ASSERT_LE(dip, 1e-9) << a << " " << b;
      }
    }
  }
  EXPECT_GT(deepest, 0.2);
}

TEST(GemmGrowthTest, BetweenTheCellsTimeFallsNoFurther) {
  const GemmGrid uneven = Uneven();
  GemmGrid growing = uneven.Growing();
  const GemmGrid dipping = uneven.Dipping(growing, kGrowth);
  growing.KeepAbove(dipping, kGrowth.dip);
  const double grows_from = dipping.DifferentUpTo(growing);
  ASSERT_GE(grows_from, 0.5 * kGrowth.grows_from);
  base::Random random(3);
  const auto size = [&random] { return 256.0 + static_cast<double>(random.Below(3841)); };
  int long_ones = 0;
  for (int i = 0; i < 20'000; ++i) {
    const GemmSample smaller = {1 + static_cast<double>(random.Below(4)), size(), size(), size()};
    GemmSample larger = smaller;
    double* const sizes[] = {&larger.batch, &larger.m, &larger.n, &larger.k};
    *sizes[random.Below(4)] *= 1 + static_cast<double>(random.Below(100)) / 50;
    const double before = dipping.Seconds(smaller);
    const double after = dipping.Seconds(larger);
    ASSERT_GE(after, before * (1 - kGrowth.dip) * (1 - 1e-9)) << i;
    if (before <= grows_from) continue;
    ++long_ones;
    ASSERT_GE(after, before * (1 - 1e-9)) << i;
  }
  EXPECT_GT(long_ones, 1000);
}

}  // namespace
}  // namespace eidolon::timing::model
