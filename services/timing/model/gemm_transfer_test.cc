#include "services/timing/model/gemm_transfer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/base/random.h"
#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::model {
namespace {

constexpr TransferConstants kConstants = {
    .fixed_clocks = 4000, .wave_clocks = 200, .split_clocks = 5000, .l2_bytes_per_clock = 100};

TransferHardware Hardware() {
  return {.multiprocessors = 100,
          .clock = 1e9,
          .bandwidth = 1e12,
          .rate = 100e12,
          .l2_bytes = 50e6,
          .input_bytes = 2,
          .architecture = 9};
}

// Rows of 2 us and the operations at 100 TFLOP/s, times `factor`, on a grid of doubling sizes.
MeasuredGemms Rows(float factor) {
  GemmRows rows = {
      .gpu = "G", .type = "bf16", .kernel = "k", .bandwidth = 1e12, .rate = 100e12, .clock = 1e9};
  for (double size = 64; size <= 4096; size *= 2) {
    for (auto& axis : rows.axes) axis.push_back(size);
  }
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    const double operations = 2 * rows.SizeOf(i, 0) * rows.SizeOf(i, 1) * rows.SizeOf(i, 2);
    rows.microseconds.push_back(factor * static_cast<float>(2 + operations / 100e6));
    rows.spread.push_back(0.01f);
  }
  return MeasuredGemms(rows);
}

double SecondsOf(const MeasuredGemms& gemms) { return gemms.Read(2048, 1024, 512).seconds; }

TEST(GemmTransferTest, LargeGemmsRunAtTheRate) {
  const double seconds = TransferSeconds(kConstants, Hardware(), 12800, 12800, 4096);

  EXPECT_NEAR(seconds, 2.0 * 12800 * 12800 * 4096 / 100e12, 0.05 * seconds);
}

TEST(GemmTransferTest, OneTileMoreThanAWaveIsAnotherWave) {
  // Tiles of 128 by 256: two waves.
  const double full = TransferSeconds(kConstants, Hardware(), 25600, 256, 1024);
  const double more = TransferSeconds(kConstants, Hardware(), 25601, 256, 1024);

  EXPECT_GT(more, 1.05 * full);
}

TEST(GemmTransferTest, FewTilesSplitTheirSum) {
  TransferConstants unsplit = kConstants;
  unsplit.split_clocks = 1e9;

  EXPECT_LT(TransferSeconds(kConstants, Hardware(), 256, 256, 16384),
            0.5 * TransferSeconds(unsplit, Hardware(), 256, 256, 16384));
}

TEST(GemmTransferTest, WeightsThatFitIntoL2AreReadFaster) {
  TransferHardware small = Hardware();
  small.rate *= 10;  // Bound by memory.
  TransferHardware large = small;
  large.l2_bytes = 500e6;

  // 16 MB, six copies of them.
  EXPECT_LT(TransferSeconds(kConstants, large, 16, 2048, 4096),
            0.8 * TransferSeconds(kConstants, small, 16, 2048, 4096));
}

TEST(GemmTransferTest, ATwinTakesItsTimesAndFarReferenceGpusHardlyCount) {
  const MeasuredGemms near = Rows(1);
  const MeasuredGemms far = Rows(2);
  TransferHardware other = Hardware();
  other.rate *= 3;
  const MeasuredGemms carried =
      CarriedGemms(kConstants, Hardware(), near.roof(), {{&near, Hardware()}, {&far, other}});

  EXPECT_NEAR(SecondsOf(carried), SecondsOf(near), 1e-3 * SecondsOf(near));
  EXPECT_FALSE(carried.Read(2048, 1024, 512).measured);
}

TEST(GemmTransferTest, OtherArchitecturesCountOnlyWithoutOwnOnes) {
  const MeasuredGemms own = Rows(1);
  const MeasuredGemms foreign = Rows(2);
  TransferHardware other = Hardware();
  other.architecture = 10;
  TransferHardware third = Hardware();
  third.architecture = 8;
  const auto carried = [&](const std::vector<TransferReferenceGpu>& reference_gpus) {
    return SecondsOf(CarriedGemms(kConstants, Hardware(), own.roof(), reference_gpus));
  };

  const double alone = carried({{&own, Hardware()}});
  EXPECT_DOUBLE_EQ(carried({{&foreign, other}, {&own, Hardware()}}), alone);
  // Each architecture alike, by logarithms, however many GPUs it has.
  const double single = carried({{&own, third}, {&foreign, other}});
  EXPECT_NEAR(carried({{&own, third}, {&foreign, other}, {&foreign, other}}), single,
              1e-5 * single);
  EXPECT_NEAR(single / carried({{&own, third}}), std::sqrt(2), 0.01);
}

TEST(GemmTransferTest, WhatIsCarriedGrows) {
  const MeasuredGemms reference_gpu = Rows(1);
  TransferHardware target = Hardware();
  target.multiprocessors = 77;
  target.architecture = 8;
  const MeasuredGemms carried =
      CarriedGemms(kConstants, target, reference_gpu.roof(), {{&reference_gpu, Hardware()}});
  base::Random random(20261129);
  for (int i = 0; i < 5'000; ++i) {
    double sizes[3];
    for (double& size : sizes) size = static_cast<double>(1 + random.Below(3000));
    const double before = carried.Read(sizes[0], sizes[1], sizes[2]).seconds;
    sizes[random.Below(3)] += static_cast<double>(1 + random.Below(1000));
    ASSERT_GE(carried.Read(sizes[0], sizes[1], sizes[2]).seconds, before * (1 - 1e-6));
  }
}

// fit/fit_gemm_transfer.py leaves a GPU's rows out of its constants: all of them are near.
TEST(GemmTransferTest, ConstantsHardlyDependOnTheGpuThatWasLeftOut) {
  const TransferConstants all = PublishedTransferConstants("a GPU without rows");
  for (const char* gpu : {"A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB", "B200-SXM-180GB",
                          "GB200", "B300-SXM-288GB", "RTX-PRO-6000-Server"}) {
    const TransferConstants without = PublishedTransferConstants(gpu);
    EXPECT_NE(without.fixed_clocks, all.fixed_clocks) << gpu;
    EXPECT_NEAR(without.fixed_clocks / all.fixed_clocks, 1, 0.2) << gpu;
    EXPECT_NEAR(without.split_clocks / all.split_clocks, 1, 0.2) << gpu;
    EXPECT_NEAR(std::log(without.l2_bytes_per_clock / all.l2_bytes_per_clock), 0, 0.5) << gpu;
  }
}

TEST(GemmTransferTest, Fp8TakesTheShareOfItsPeakThatBf16Attains) {
  const auto catalog = *gpu_model::GpuCatalog::Load("");
  const gpu_model::GpuModel& gpu = **catalog.Find("H100-SXM5-80GB");
  const TransferHardware bf16 = TransferHardwareOf(gpu, "bf16");
  const TransferHardware fp8 = TransferHardwareOf(gpu, "fp8");

  EXPECT_DOUBLE_EQ(bf16.rate, gpu.sustained_flops.at("bf16"));
  EXPECT_NEAR(fp8.rate / bf16.rate, 2, 0.01);
  EXPECT_EQ(fp8.input_bytes, 1);
}

}  // namespace
}  // namespace eidolon::timing::model
