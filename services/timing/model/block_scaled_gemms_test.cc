#include "services/timing/model/block_scaled_gemms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/estimator.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuModel& ScaledGpu(const std::string& name) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find(name);
}

// As torch._scaled_mm calls cuBLASLt: column-major, weights first.
kernel::Gemm ScaledGemm(std::uint32_t type, std::uint32_t scale_mode, std::uint64_t m,
                        std::uint64_t n, std::uint64_t k) {
  constexpr std::uint32_t kHalf = 14, kSingle = 68;
  return {.m = n,
          .n = m,
          .k = k,
          .lda = k,
          .ldb = k,
          .ldc = n,
          .ldd = n,
          .type_a = type,
          .type_b = type,
          .type_c = kHalf,
          .type_d = kHalf,
          .compute_type = kSingle,
          .transpose_a = true,
          .scale_mode = scale_mode};
}
constexpr std::uint32_t kScaledFp4 = 33, kScaledE4m3 = 28;
constexpr std::uint32_t kScaleNvfp4 = 2, kScaleBlock = 6, kScaleTensor = 1;

struct ScaledRow {
  std::string gpu;
  std::uint32_t type, scale_mode;
  std::uint64_t m, n, k;
  double microseconds;  // Median of the stacks that ran in bursts, quantising x inside.
};

// Medians of github.com/ai-dynamo/aiconfigurator at commit 095f58a51c4c, systems/data.
const std::vector<ScaledRow>& ScaledRows() {
  static const std::vector<ScaledRow> rows = {
      {"B200-SXM-180GB", kScaledFp4, kScaleNvfp4, 1024, 4096, 4096, 17.9},
      {"B200-SXM-180GB", kScaledFp4, kScaleNvfp4, 4096, 4096, 4096, 50.8},
      {"B200-SXM-180GB", kScaledFp4, kScaleNvfp4, 8192, 8192, 8192, 252.0},
      {"B200-SXM-180GB", kScaledFp4, kScaleNvfp4, 2048, 7168, 2048, 25.3},
      {"GB200", kScaledFp4, kScaleNvfp4, 1024, 4096, 4096, 17.7},
      {"GB200", kScaledFp4, kScaleNvfp4, 4096, 4096, 4096, 44.0},
      {"GB200", kScaledFp4, kScaleNvfp4, 8192, 8192, 8192, 230.3},
      {"H100-SXM5-80GB", kScaledE4m3, kScaleBlock, 1024, 4096, 4096, 42.3},
      {"H100-SXM5-80GB", kScaledE4m3, kScaleBlock, 4096, 4096, 4096, 146.2},
      {"H100-SXM5-80GB", kScaledE4m3, kScaleBlock, 8192, 8192, 8192, 949.0},
      {"H100-SXM5-80GB", kScaledE4m3, kScaleBlock, 2048, 7168, 2048, 70.4}};
  return rows;
}

TEST(BlockScaledGemmsTest, FollowTheRowsOfTheirType) {
  Estimator estimator(nullptr);
  double sum = 0;
  for (const ScaledRow& row : ScaledRows()) {
    const auto& gpu = ScaledGpu(row.gpu);
    const Estimate found =
        estimator.Of(gpu, ScaledGemm(row.type, row.scale_mode, row.m, row.n, row.k));
    const double us = (found.duration + gpu.launch_gap).Seconds() * 1e6;
    EXPECT_NEAR(us, row.microseconds, 0.15 * row.microseconds)
        << row.gpu << " " << row.m << " x " << row.n << " x " << row.k;
    EXPECT_EQ(found.source, estimate::Source::kInterpolated);
    sum += std::abs(us / row.microseconds - 1);
  }
  EXPECT_LE(sum / static_cast<double>(ScaledRows().size()), 0.10);
}

TEST(BlockScaledGemmsTest, OtherScalesAndGpusWithoutRowsAreLeftToTheirType) {
  EXPECT_EQ(BlockScaledType(ScaledGemm(kScaledE4m3, kScaleTensor, 64, 64, 64)), "");
  EXPECT_EQ(BlockScaledType(ScaledGemm(kScaledE4m3, 0, 64, 64, 64)), "");
  EXPECT_EQ(BlockScaledType(ScaledGemm(kScaledFp4, kScaleNvfp4, 64, 64, 64)), "nvfp4");
  EXPECT_FALSE(PredictBlockScaledGemm(ScaledGpu("A100-SXM4-80GB"), "nvfp4", 4096, 4096, 4096));
  // Hopper has no rows of NVFP4 and none of its architecture.
  EXPECT_FALSE(PredictBlockScaledGemm(ScaledGpu("H100-SXM5-80GB"), "nvfp4", 4096, 4096, 4096));
}

}  // namespace
}  // namespace eidolon::timing::model
