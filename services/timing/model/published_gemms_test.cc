#include "services/timing/model/published_gemms.h"

#include <gtest/gtest.h>

#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuCatalog& PublishedCatalog() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return catalog;
}

TEST(PublishedGemmsTest, EveryProfileIsOfAGpuWeModel) {
  ASSERT_FALSE(EmbeddedGemmRows().empty());
  std::size_t bytes = 0;
  for (const EmbeddedRows& file : EmbeddedGemmRows()) {
    const GemmRows rows = ReadEmbedded(file);
    const auto gpu = PublishedCatalog().Find(rows.gpu);
    ASSERT_TRUE(gpu) << rows.gpu;
    EXPECT_GE(rows.measured(), 4000u) << rows.gpu << " " << rows.type;
    EXPECT_FALSE(rows.kernel.empty());
    // The roof is that of the GPU's file.
    EXPECT_NEAR(rows.bandwidth, static_cast<double>((*gpu)->memory_bytes_per_second),
                0.001 * rows.bandwidth);
    EXPECT_NEAR(rows.rate, Rate(**gpu, rows.type), 0.001 * rows.rate) << rows.gpu;
    EXPECT_NEAR(rows.clock, static_cast<double>((*gpu)->boost_clock_hz), 1e6);
    bytes += file.compressed.size();
  }
  EXPECT_LE(bytes, 15u << 20);
}

// What CarriedTo ranks by stands beside the rows: every file has its line, and it is right.
TEST(PublishedGemmsTest, EveryGpuWithRowsMayStandInForOthers) {
  const auto& published = PublishedGemms::Get();
  for (const EmbeddedRows& file : EmbeddedGemmRows()) {
    gpu_model::GpuModel twin = **PublishedCatalog().Find(std::string(file.gpu));
    twin.name = "twin";
    const auto carried = published.CarriedTo(twin, std::string(file.type));
    EXPECT_EQ(carried.reference_gpu, file.gpu);
    EXPECT_TRUE(carried.same_architecture) << file.gpu;
    ASSERT_NE(carried.gemms, nullptr);
    const auto* own = published.Find(std::string(file.gpu), std::string(file.type));
    EXPECT_NEAR(carried.gemms->Read(4000, 3000, 2000).seconds, own->Read(4000, 3000, 2000).seconds,
                1e-3 * own->Read(4000, 3000, 2000).seconds);
  }
}

TEST(PublishedGemmsTest, AProfileIsReadOnce) {
  const auto& published = PublishedGemms::Get();

  EXPECT_EQ(published.Find("H100-SXM5-80GB", "bf16"), published.Find("H100-SXM5-80GB", "bf16"));
  EXPECT_EQ(published.Find("H100-SXM5-80GB", "fp64"), nullptr);
  EXPECT_EQ(published.Find("L40S", "bf16"), nullptr);
}

TEST(PublishedGemmsTest, CarriesFromTheGpuThatIsMostAlike) {
  const auto& published = PublishedGemms::Get();
  const auto reference_gpu = [&](const char* gpu) {
    const auto carried = published.CarriedTo(**PublishedCatalog().Find(gpu), "bf16");
    return carried.gemms == nullptr ? "none" : carried.reference_gpu;
  };

  EXPECT_EQ(reference_gpu("A100-SXM4-40GB"), "A100-SXM4-80GB");
  EXPECT_EQ(reference_gpu("H100-PCIe-80GB"), "H100-SXM5-80GB");
  EXPECT_EQ(reference_gpu("L40S"), "RTX-PRO-6000-Server");
  // One that has rows follows from the others here.
  EXPECT_EQ(reference_gpu("H100-SXM5-80GB"), "H200-SXM-141GB");
  EXPECT_EQ(reference_gpu("GB200"), "B200-SXM-180GB");
  // None of its architecture: all others, the nearest ratio of bandwidth and rate first.
  EXPECT_EQ(reference_gpu("A100-SXM4-80GB"), "H200-SXM-141GB");
  EXPECT_EQ(reference_gpu("RTX-PRO-6000-Server"), "H100-SXM5-80GB");
  const auto reference_gpus = [&](const char* gpu) {
    return published.CarriedTo(**PublishedCatalog().Find(gpu), "bf16").reference_gpus;
  };
  EXPECT_EQ(reference_gpus("A100-SXM4-80GB"), 6u);
  EXPECT_EQ(reference_gpus("H100-SXM5-80GB"), 1u);
  EXPECT_EQ(reference_gpus("GB200"), 2u);
  const auto& gpu = **PublishedCatalog().Find("L40S");
  EXPECT_EQ(published.CarriedTo(gpu, "bf16").gemms, published.CarriedTo(gpu, "bf16").gemms);
  EXPECT_EQ(published.CarriedTo(gpu, "fp64").gemms, nullptr);
}

}  // namespace
}  // namespace eidolon::timing::model
