#include "services/timing/model/gemm_gaps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace eidolon::timing::model {
namespace {

// A grid of eight doubling sizes with values of a function of the steps along m, n and k.
struct Grid {
  GemmRows rows;
  std::vector<double> values;

  explicit Grid(const std::function<double(double, double, double)>& value) {
    for (double size = 32; size <= 4096; size *= 2) {
      for (auto& axis : rows.axes) axis.push_back(size);
    }
    rows.microseconds.assign(rows.cells(), 1);
    rows.spread.assign(rows.cells(), 0);
    for (std::size_t i = 0; i < rows.cells(); ++i) {
      values.push_back(value(Step(i, 0), Step(i, 1), Step(i, 2)));
    }
  }
  double Step(std::size_t cell, std::size_t axis) const {
    return static_cast<double>(rows.Step(cell, axis));
  }
  std::size_t At(std::size_t m, std::size_t n, std::size_t k) const {
    return m * rows.Stride(0) + n * rows.Stride(1) + k * rows.Stride(2);
  }
  Gap Without(std::size_t cell) const {
    GemmRows known = rows;
    known.microseconds[cell] = 0;
    std::vector<double> there = values;
    there[cell] = 1e9;
    return FillGaps(known, there)[cell];
  }
};

TEST(GemmGapsTest, SmoothValuesAreMet) {
  const Grid grid([](double m, double n, double k) { return 0.1 * m - 0.2 * n + 0.05 * k; });
  const std::size_t cell = grid.At(3, 4, 5);

  EXPECT_NEAR(grid.Without(cell).value, grid.values[cell], 1e-5);
  EXPECT_LT(grid.Without(cell).error, 0.01);
  EXPECT_TRUE(grid.Without(cell).reached);
}

TEST(GemmGapsTest, AnAxisWithStepsHardlyCounts) {
  // Every other m is slow, as one row more than whole tiles is.
  const Grid grid([](double m, double n, double k) {
    return 0.1 * n - 0.1 * k + (std::fmod(m, 2) == 1 ? 0.2 : 0);
  });

  for (const std::size_t m : {3u, 4u}) {
    const std::size_t cell = grid.At(m, 4, 4);
    EXPECT_NEAR(grid.Without(cell).value, grid.values[cell], 0.005) << m;
  }
}

TEST(GemmGapsTest, NoiseNearByWidensTheError) {
  const auto noise = [](double share) {
    return Grid([share](double m, double n, double k) {
      return share * std::sin(2.4 * m + 1.7 * n + 2.9 * k);
    });
  };

  EXPECT_GT(noise(0.2).Without(noise(0.2).At(3, 4, 4)).error, 0.05);
  EXPECT_LT(noise(0.01).Without(noise(0.01).At(3, 4, 4)).error, 0.03);
}

TEST(GemmGapsTest, ACellWithoutKnownOnesOnItsLinesIsNotReached) {
  Grid grid([](double, double, double) { return 1; });
  const std::size_t cell = grid.At(3, 4, 4);
  for (std::size_t i = 0; i < grid.rows.cells(); ++i) {
    const int same = (grid.Step(i, 0) == 3) + (grid.Step(i, 1) == 4) + (grid.Step(i, 2) == 4);
    if (same >= 2) grid.rows.microseconds[i] = 0;
  }

  EXPECT_FALSE(grid.Without(cell).reached);
}

}  // namespace
}  // namespace eidolon::timing::model
