#include "services/timing/fit/kernel_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace eidolon::timing::fit {
namespace {

const gpu_model::GpuCatalog& ErrorCatalog() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return catalog;
}

struct Sum {
  double errors = 0;
  double bias = 0;
  double stated = 0;
  double rows = 0;
};

Sum SumOf(const std::vector<PublishedErrors>& errors) {
  Sum sum;
  for (const PublishedErrors& e : errors) {
    const auto rows = static_cast<double>(e.rows);
    sum.errors += rows * e.mean;
    sum.bias += rows * e.bias;
    sum.stated += rows * e.stated;
    sum.rows += rows;
  }
  return sum;
}

// The bounds of docs/reference/generated/kernel_times.md, of shapes that the model has not seen.
TEST(KernelErrorsTest, AttentionFollowsFromItsNeighbours) {
  for (const char* gpu : {"A100-SXM4-80GB", "H100-SXM5-80GB", "B200-SXM-180GB"}) {
    const Sum sum = SumOf(HeldOutKernels("attention", gpu));
    EXPECT_GT(sum.rows, 500) << gpu;
    EXPECT_LE(sum.errors / sum.rows, 0.06) << gpu;
    EXPECT_LE(std::abs(sum.bias / sum.rows), 0.02) << gpu;
    // The stated error is about the actual one.
    EXPECT_GE(sum.stated, 0.5 * sum.errors) << gpu;
    EXPECT_LE(sum.stated, 3 * sum.errors) << gpu;
  }
}

TEST(KernelErrorsTest, ExpertsFollowFromTheirNeighbours) {
  for (const char* gpu : {"A100-SXM4-80GB", "H100-SXM5-80GB", "B200-SXM-180GB"}) {
    const Sum sum = SumOf(HeldOutKernels("moe", gpu));
    EXPECT_GT(sum.rows, 500) << gpu;
    EXPECT_LE(sum.errors / sum.rows, 0.12) << gpu;
    EXPECT_LE(std::abs(sum.bias / sum.rows), 0.03) << gpu;
  }
}

TEST(KernelErrorsTest, QuantisedGemmsFollowFromTheirNeighbours) {
  for (const char* gpu : {"A100-SXM4-80GB", "H100-SXM5-80GB", "B200-SXM-180GB"}) {
    const Sum sum = SumOf(HeldOutKernels("gemm", gpu));
    EXPECT_GT(sum.rows, 250) << gpu;
    EXPECT_LE(sum.errors / sum.rows, 0.1) << gpu;
  }
}

TEST(KernelErrorsTest, ReadsTheRowsOfAFile) {
  const std::string head = "gpu,kernel,sizes,microseconds\n";
  const std::string kernel = "prefill vllm-0.24.0:vllm_flash_attn_fa3 bf16 bf16 128 0";
  const auto errors = KernelsOfFile(
      ErrorCatalog(), head + "H100-SXM5-80GB," + kernel + ",16 16 1 16384,1818\n# a remark\n");
  ASSERT_TRUE(errors.has_value());
  ASSERT_EQ(errors->size(), 1u);
  EXPECT_EQ(errors->front().rows, 1u);
  EXPECT_EQ(errors->front().from, "rows of H100-SXM5-80GB");
  EXPECT_LT(errors->front().mean, 0.02);

  for (const char* row : {"H100-SXM5-80GB,prefill,16 16 1 16384,1818",
                          "H100-SXM5-80GB,decode x bf16 bf16 128 0,16 16 1 16384,1818",
                          "Nothing,decode x bf16 bf16 128 0,16 16 1 16384,1818", "1,2,3"}) {
    EXPECT_FALSE(KernelsOfFile(ErrorCatalog(), head + row + "\n").has_value()) << row;
  }
  EXPECT_FALSE(KernelsOfFile(ErrorCatalog(), head + "H100-SXM5-80GB," + kernel + ",16 16 1,3\n"));
  EXPECT_FALSE(KernelsOfFile(ErrorCatalog(), head + "H100-SXM5-80GB," + kernel + ",16 16 1 9,0\n"));
}

}  // namespace
}  // namespace eidolon::timing::fit
