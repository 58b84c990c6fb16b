#include "services/timing/model/memory_model.h"

#include <gtest/gtest.h>

#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuModel& H100() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

TEST(MemoryModelTest, LargeKernelsReachTheAttainedBandwidth) {
  const double seconds = MemorySeconds(H100(), 3.35e9, 1);

  EXPECT_NEAR(seconds, 1e-3 / 0.9, 0.01e-3);
}

TEST(MemoryModelTest, MoreBytesNeverTakeLess) {
  double last = 0;
  for (double bytes = 1; bytes < 1e11; bytes *= 1.07) {
    const double seconds = MemorySeconds(H100(), bytes, 0.8);
    EXPECT_GT(seconds, last) << bytes;
    last = seconds;
  }
}

TEST(MemoryModelTest, ATinyKernelLastsTheFloor) {
  const kernel::Demand demand{.bytes = 128};

  EXPECT_NEAR(DemandSeconds(H100(), demand, {.blocks = 1, .threads = 32}), 2e-6, 0.2e-6);
}

TEST(MemoryModelTest, OneBlockCannotFillTheGpu) {
  const kernel::Demand demand{.bytes = 1e8};

  const double one = DemandSeconds(H100(), demand, {.blocks = 1, .threads = 1024});
  const double all = DemandSeconds(H100(), demand, {.blocks = 1e5, .threads = 1e8});

  EXPECT_GT(one, 30 * all);
}

TEST(MemoryModelTest, ShortGatheredRowsWasteBandwidth) {
  kernel::Demand demand{.bytes = 1e9, .random_bytes = 1e9, .row_bytes = 4};
  const double scattered = DemandSeconds(H100(), demand, {});
  demand.row_bytes = 4096;
  const double rows = DemandSeconds(H100(), demand, {});

  EXPECT_GT(scattered, 5 * rows);
}

}  // namespace
}  // namespace eidolon::timing::model
