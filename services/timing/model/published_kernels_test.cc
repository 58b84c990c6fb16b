#include "services/timing/model/published_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::model {
namespace {

constexpr const char* kFlash3 = "prefill vllm-0.24.0:vllm_flash_attn_fa3 bf16 bf16 128 0";

const gpu_model::GpuModel& PublishedGpu(const char* name) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find(name);
}

TEST(PublishedKernelsTest, GivesARowAsItWasPublished) {
  // 16 heads, 16 of keys, one sequence of 16384: 605 TFLOP/s.
  const auto answer = PublishedKernels::Get().Read(
      PublishedGpu("H100-SXM5-80GB"), *ParseKernelClass(kFlash3), std::array{16., 16., 1., 16384.});

  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->gpu, "H100-SXM5-80GB");
  EXPECT_TRUE(answer->time.measured);
  EXPECT_NEAR(2. * 16 * 128 * 16384 * 16384 / answer->time.seconds / 1e12, 605, 5);
  EXPECT_NEAR(answer->time.relative_error, 0.02, 0.01);
}

TEST(PublishedKernelsTest, AnswersBetweenRowsAndSaysSo) {
  const KernelClass kernel = *ParseKernelClass(kFlash3);
  const auto at = [&](double heads, double length) {
    return PublishedKernels::Get()
        .Read(PublishedGpu("H100-SXM5-80GB"), kernel, std::array{heads, 8., 1., length})
        ->time;
  };

  const auto between = at(28, 5000);
  EXPECT_FALSE(between.measured);
  EXPECT_TRUE(between.inside);
  EXPECT_GT(between.seconds, at(24, 4096).seconds);
  EXPECT_LT(between.seconds, at(32, 6144).seconds);
  EXPECT_GT(between.relative_error, 0.02);
}

TEST(PublishedKernelsTest, AnotherHeadSizeGoesByTheNearest) {
  const std::array sizes = {32., 8., 4., 4096.};
  const auto read = [&](double head_size) {
    KernelClass kernel = *ParseKernelClass(kFlash3);
    kernel.head_size = head_size;
    return PublishedKernels::Get().Read(PublishedGpu("H100-SXM5-80GB"), kernel, sizes)->time;
  };

  EXPECT_FALSE(read(96).measured);
  EXPECT_GT(read(96).relative_error, read(128).relative_error);
  EXPECT_GT(read(96).seconds, read(64).seconds);
  EXPECT_LT(read(96).seconds, read(128).seconds);
}

TEST(PublishedKernelsTest, AGpuWithoutRowsTakesThoseOfItsArchitecture) {
  const KernelClass kernel = *ParseKernelClass(kFlash3);
  const std::array sizes = {32., 8., 4., 4096.};
  const auto pcie = PublishedKernels::Get().Read(PublishedGpu("H100-PCIe-80GB"), kernel, sizes);

  ASSERT_TRUE(pcie.has_value());
  EXPECT_TRUE(pcie->gpu.starts_with("H"));
  EXPECT_FALSE(pcie->time.measured);
  EXPECT_GT(pcie->time.relative_error, 0.1);
  // FlashAttention 3 does not run on Ampere.
  EXPECT_FALSE(
      PublishedKernels::Get().Read(PublishedGpu("A100-SXM4-80GB"), kernel, sizes).has_value());
}

TEST(PublishedKernelsTest, NamesOfTablesAreClasses) {
  std::size_t rows = 0;
  for (const EmbeddedRows& file : EmbeddedKernelRows()) {
    for (const KernelTable& table : ReadEmbeddedKernels(file).tables) {
      const auto kernel = ParseKernelClass(table.name);
      ASSERT_TRUE(kernel.has_value()) << table.name;
      EXPECT_EQ(kernel->Name(), table.name);
      EXPECT_EQ(kernel->columns(), table.columns) << table.name;
      rows += table.size();
    }
  }
  EXPECT_GT(rows, 3'000'000u);
}

}  // namespace
}  // namespace eidolon::timing::model
