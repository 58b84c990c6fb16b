#include "services/timing/model/gemm_waves.h"

#include <gtest/gtest.h>

#include "services/base/random.h"

namespace eidolon::timing::model {
namespace {

constexpr GemmHardware kHopper = {.multiprocessors = 132,
                                  .bandwidth = 3.35e12,
                                  .rate = 794.5e12,
                                  .input_bytes = 2,
                                  .output_bytes = 2};

TEST(GemmWavesTest, GrowsInEverySize) {
  const WaveConstants constants = PublishedWaveConstants();
  base::Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    GemmSample shape;
    double* const sizes[] = {&shape.batch, &shape.m, &shape.n, &shape.k};
    for (double* size : sizes) {
      *size = static_cast<double>((1 + random.Below(16)) << random.Below(11));
    }
    const double before = WaveSeconds(constants, kHopper, shape);
    *sizes[random.Below(4)] *= 1 + static_cast<double>(random.Below(100)) / 50;
    ASSERT_GE(WaveSeconds(constants, kHopper, shape), before * (1 - 1e-12)) << i;
  }
}

TEST(GemmWavesTest, LargeGemmsRunAtAboutTheRate) {
  const GemmSample large = {.batch = 4, .m = 4096, .n = 4096, .k = 4096};
  const double seconds = WaveSeconds(PublishedWaveConstants(), kHopper, large);

  EXPECT_NEAR(2 * 4 * 4096.0 * 4096 * 4096 / seconds / kHopper.rate, 1, 0.05);
}

TEST(GemmWavesTest, OneTileMoreThanAWaveIsAnotherWave) {
  const WaveConstants constants = PublishedWaveConstants();
  const auto seconds = [&](double tiles) {
    return WaveSeconds(constants, kHopper, {.batch = 1, .m = 128 * tiles, .n = 256, .k = 4096});
  };

  EXPECT_NEAR(seconds(132) / seconds(128), 1, 0.02);
  EXPECT_GT(seconds(133), 1.2 * seconds(132));
}

TEST(GemmWavesTest, CarriesASurfaceInProportion) {
  const WaveConstants constants = PublishedWaveConstants();
  std::vector<GemmSample> samples;
  for (std::size_t cell = 0; cell < GemmGrid::kCells; cell += 7) {
    samples.push_back(GemmGrid::ShapeOf(cell));
    samples.back().seconds = 1.2 * WaveSeconds(constants, kHopper, samples.back());
  }
  const GaussianScales scales = {.length = {10, 10, 10, 2.5, 1.8, 5}, .signal = 0.3, .noise = 0.02};
  const GemmSurface surface(kHopper, samples, {{scales}, {}});
  GemmHardware faster = kHopper;
  faster.rate *= 2;
  faster.bandwidth *= 2;

  const GemmGrid carried = CarriedGrid(constants, faster, surface, kHopper);

  const GemmSample large = {.batch = 4, .m = 4096, .n = 4096, .k = 4096};
  // The cost of a wave besides its arithmetic stays.
  EXPECT_NEAR(carried.Seconds(large), surface.GrowingSeconds(large) / 2,
              0.03 * carried.Seconds(large));
}

}  // namespace
}  // namespace eidolon::timing::model
