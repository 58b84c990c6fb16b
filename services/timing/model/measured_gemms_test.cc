#include "services/timing/model/measured_gemms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/base/random.h"

namespace eidolon::timing::model {
namespace {

// Rows of 2 us and the operations at 100 TFLOP/s on a grid of doubling sizes.
GemmRows Rows() {
  GemmRows rows = {
      .gpu = "G", .type = "bf16", .kernel = "k", .bandwidth = 1e12, .rate = 100e12, .clock = 1e9};
  for (double size = 32; size <= 4096; size *= 2) {
    for (auto& axis : rows.axes) axis.push_back(size);
  }
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    const double operations = 2 * rows.SizeOf(i, 0) * rows.SizeOf(i, 1) * rows.SizeOf(i, 2);
    rows.microseconds.push_back(static_cast<float>(2 + operations / 100e6));
    rows.spread.push_back(0.01f);
  }
  return rows;
}

std::size_t CellOf(const GemmRows& rows, double m, double n, double k) {
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    if (rows.SizeOf(i, 0) == m && rows.SizeOf(i, 1) == n && rows.SizeOf(i, 2) == k) return i;
  }
  ADD_FAILURE() << "no such cell";
  return 0;
}

TEST(MeasuredGemmsTest, GivesARowAsItIs) {
  const auto answer = MeasuredGemms(Rows()).Read(1024, 512, 2048);

  EXPECT_NEAR(answer.seconds, (2 + 2.0 * 1024 * 512 * 2048 / 100e6) * 1e-6, 1e-9);
  EXPECT_TRUE(answer.measured);
  EXPECT_TRUE(answer.inside);
  EXPECT_NEAR(answer.relative_error, 0.02, 1e-6);
}

TEST(MeasuredGemmsTest, FillsAMissingRowFromItsNeighbours) {
  GemmRows rows = Rows();
  rows.microseconds[CellOf(rows, 1024, 512, 2048)] = 0;
  const auto answer = MeasuredGemms(rows).Read(1024, 512, 2048);
  const double truth = (2 + 2.0 * 1024 * 512 * 2048 / 100e6) * 1e-6;

  EXPECT_NEAR(answer.seconds, truth, 0.05 * truth);
  EXPECT_FALSE(answer.measured);
  EXPECT_TRUE(answer.inside);
}

TEST(MeasuredGemmsTest, NeighboursThatDisagreeWidenTheError) {
  GemmRows rows = Rows();
  rows.microseconds[CellOf(rows, 1024, 512, 2048)] = 0;
  const double agreed = MeasuredGemms(rows).Read(1024, 512, 2048).relative_error;
  for (const double k : {1024.0, 4096.0}) rows.microseconds[CellOf(rows, 1024, 512, k)] *= 1.5f;

  EXPECT_GT(MeasuredGemms(rows).Read(1024, 512, 2048).relative_error, agreed + 0.1);
}

TEST(MeasuredGemmsTest, OneOutlierDoesNotMoveAMissingRow) {
  GemmRows rows = Rows();
  rows.microseconds[CellOf(rows, 1024, 512, 2048)] = 0;
  const double before = MeasuredGemms(rows).Read(1024, 512, 2048).seconds;
  rows.microseconds[CellOf(rows, 1024, 512, 1024)] *= 1.8f;

  EXPECT_NEAR(MeasuredGemms(rows).Read(1024, 512, 2048).seconds, before, 0.1 * before);
}

TEST(MeasuredGemmsTest, BeyondTheRowsTheRoofStandsIn) {
  const MeasuredGemms gemms(Rows());
  const auto edge = gemms.Read(4096, 4096, 4096);
  const auto beyond = gemms.Read(16384, 4096, 4096);
  const auto below = gemms.Read(8, 32, 32);

  EXPECT_NEAR(beyond.seconds / edge.seconds, 4, 0.05);
  EXPECT_FALSE(beyond.inside);
  EXPECT_GT(beyond.relative_error, edge.relative_error);
  EXPECT_EQ(below.seconds, gemms.Read(32, 32, 32).seconds);
  EXPECT_FALSE(below.inside);
}

TEST(MeasuredGemmsTest, GrowsWhateverTheRowsSay) {
  GemmRows rows = Rows();
  base::Random random(20261123);
  for (float& time : rows.microseconds) {
    time *= 0.5f + static_cast<float>(random.Below(1000)) / 1000;
    if (random.Below(5) == 0) time = 0;
  }
  const MeasuredGemms gemms(rows);
  for (int i = 0; i < 20'000; ++i) {
    double sizes[3];
    for (double& size : sizes) size = static_cast<double>(1 + random.Below(3000));
    const double before = gemms.Read(sizes[0], sizes[1], sizes[2]).seconds;
    sizes[random.Below(3)] += static_cast<double>(1 + random.Below(1000));
    ASSERT_GE(gemms.Read(sizes[0], sizes[1], sizes[2]).seconds, before * (1 - 1e-6))
        << sizes[0] << " x " << sizes[1] << " x " << sizes[2];
  }
}

TEST(MeasuredGemmsTest, AnotherGpuFollowsByItsRoof) {
  const MeasuredGemms reference_gpu(Rows());
  GemmRoof half = reference_gpu.roof();
  half.rate /= 2;
  half.bandwidth /= 2;
  const MeasuredGemms carried(reference_gpu, half);

  EXPECT_NEAR(carried.Read(4096, 4096, 4096).seconds / reference_gpu.Read(4096, 4096, 4096).seconds,
              2, 0.02);
  EXPECT_NEAR(carried.Read(32, 32, 32).seconds / reference_gpu.Read(32, 32, 32).seconds, 1, 0.02);
  EXPECT_FALSE(carried.Read(4096, 4096, 4096).measured);
}

}  // namespace
}  // namespace eidolon::timing::model
