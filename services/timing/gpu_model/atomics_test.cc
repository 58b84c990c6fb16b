#include "services/timing/gpu_model/atomics.h"

#include <gtest/gtest.h>

#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::gpu_model {
namespace {

GpuModel Gpu(const char* name) {
  static const auto catalog = *GpuCatalog::Load("");
  return **catalog.Find(name);
}

TEST(AtomicsTest, LanesInOneWordFollowEachOther) {
  const GpuModel gpu = Gpu("H100-SXM5-80GB");
  const double one = AtomicSeconds(gpu, 1e6, 1);

  EXPECT_NEAR(one, 1e6 * 1.1e-9, 0.05e-3);
  EXPECT_DOUBLE_EQ(AtomicSeconds(gpu, 2e6, 1), 2 * one);
  EXPECT_DOUBLE_EQ(AtomicSeconds(gpu, 0, 1), 0);
}

TEST(AtomicsTest, LinesShareTheRoundsUntilSlicesAreTakenTwice) {
  const GpuModel gpu = Gpu("H100-SXM5-80GB");
  const double one = AtomicSeconds(gpu, 1e6, 1);

  EXPECT_NEAR(AtomicSeconds(gpu, 1e6, 2) / one, 1.0 / 2, 1e-9);
  EXPECT_GT(AtomicSeconds(gpu, 1e6, 128) / one, 1.0 / 64);
  double last = one;
  for (double lines = 2; lines < 1e6; lines *= 2) {
    const double next = AtomicSeconds(gpu, 1e6, lines);
    EXPECT_LT(next, last) << lines;
    last = next;
  }
  EXPECT_GT(last, one / Slices(gpu));
}

// 64 M lanes in 1024 words of 4 bytes, each lane in a word at random: 4.88 ms on an H200.
TEST(AtomicsTest, AThousandWordsAtRandomTakeWhatAnH200Takes) {
  EXPECT_NEAR(AtomicSeconds(Gpu("H200-SXM-141GB"), 64 << 20, 32), 64 * 1048576 / 13.1e9, 0.5e-3);
}

}  // namespace
}  // namespace eidolon::timing::gpu_model
