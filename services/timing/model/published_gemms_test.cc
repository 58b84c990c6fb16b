#include "services/timing/model/published_gemms.h"

#include <gtest/gtest.h>

#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuCatalog& Catalog() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return catalog;
}

TEST(PublishedGemmsTest, EveryProfileIsOfAGpuWeModel) {
  ASSERT_FALSE(AllEmbeddedRows().empty());
  std::size_t bytes = 0;
  for (const EmbeddedRows& file : AllEmbeddedRows()) {
    const GemmRows rows = ReadEmbedded(file);
    const auto gpu = Catalog().Find(rows.gpu);
    ASSERT_TRUE(gpu) << rows.gpu;
    EXPECT_GE(rows.measured(), 4000u) << rows.gpu << " " << rows.type;
    EXPECT_FALSE(rows.kernel.empty());
    // The roof is that of the GPU's file.
    EXPECT_NEAR(rows.bandwidth, static_cast<double>((*gpu)->memory_bytes_per_second),
                0.001 * rows.bandwidth);
    EXPECT_NEAR(rows.rate, Rate(**gpu, rows.type), 0.001 * rows.rate) << rows.gpu;
    bytes += file.compressed.size();
  }
  EXPECT_LE(bytes, 15u << 20);
}

TEST(PublishedGemmsTest, AProfileIsReadOnce) {
  const auto& published = PublishedGemms::Get();

  EXPECT_EQ(published.Find("H100-SXM5-80GB", "bf16"), published.Find("H100-SXM5-80GB", "bf16"));
  EXPECT_EQ(published.Find("H100-SXM5-80GB", "fp64"), nullptr);
  EXPECT_EQ(published.Find("L40S", "bf16"), nullptr);
}

TEST(PublishedGemmsTest, CarriesWithinAnArchitectureOnly) {
  const auto& published = PublishedGemms::Get();

  const auto& smaller = **Catalog().Find("A100-SXM4-40GB");
  EXPECT_NE(published.CarriedTo(smaller, "bf16"), nullptr);
  EXPECT_EQ(published.CarriedTo(smaller, "bf16"), published.CarriedTo(smaller, "bf16"));
  EXPECT_EQ(published.CarriedTo(**Catalog().Find("L40S"), "bf16"), nullptr);
}

}  // namespace
}  // namespace eidolon::timing::model
