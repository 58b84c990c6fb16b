#include "services/timing/model/attention_model.h"

#include <gtest/gtest.h>

#include "services/timing/gpu_model/gpu_catalog.h"

namespace eidolon::timing::model {
namespace {

double Micros(double batch_heads, double length, double head_size, bool causal) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  kernel::Demand demand{.family = kernel::Family::kAttentionForward};
  demand.batch_heads = batch_heads;
  demand.query_length = demand.key_length = length;
  demand.head_size = head_size;
  demand.causal = causal;
  demand.flops = 4 * batch_heads * length * length * head_size;
  demand.bytes = 2 * batch_heads * head_size * 4 * length;
  return PredictAttention(**catalog.Find("H100-SXM5-80GB"), demand, AttentionLibrary::kFlash2)
             .seconds *
         1e6;
}

TEST(AttentionModelTest, CausalHeadsOf64TakeWhatAnH100Measured) {
  // e2e/measured/h100/attention.jsonl.gz, warm cache; the rates come from an H200.
  EXPECT_NEAR(Micros(384, 512, 64, true) / 91.4, 1, 0.1);
  EXPECT_NEAR(Micros(512, 512, 64, true) / 117.7, 1, 0.1);
  EXPECT_NEAR(Micros(256, 1024, 64, true) / 166.4, 1, 0.1);
  EXPECT_NEAR(Micros(128, 2048, 64, true) / 274.4, 1, 0.1);
  EXPECT_NEAR(Micros(64, 4096, 64, true) / 511.8, 1, 0.1);
}

TEST(AttentionModelTest, BlocksThatAreNotFullTakeAsLong) {
  for (const bool causal : {false, true}) {
    EXPECT_DOUBLE_EQ(Micros(256, 559, 64, causal), Micros(256, 640, 64, causal));
    // Heads of 128 have blocks of 64 keys: 576 of them.
    EXPECT_LT(Micros(256, 559, 128, causal), Micros(256, 640, 128, causal));
    EXPECT_GT(Micros(256, 559, 128, causal), Micros(256, 512, 128, causal));
  }
}

}  // namespace
}  // namespace eidolon::timing::model
