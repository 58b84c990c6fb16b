#include "services/timing/model/power_model.h"

#include <gtest/gtest.h>

#include <string>

#include "services/timing/gpu_model/at_clock.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimator.h"

namespace eidolon::timing::model {
namespace {

const gpu_model::GpuModel& Gpu(const std::string& name) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find(name);
}

Estimate Of(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item) {
  Estimator estimator(nullptr);
  Estimate estimate = estimator.Of(gpu, item);
  estimate.draw = DrawOf(gpu, estimate.duty, estimate.duration);
  return estimate;
}

kernel::Gemm Square(std::uint64_t size) {
  constexpr std::uint32_t kBf16 = 14;
  kernel::Gemm gemm;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = gemm.ldd = size;
  gemm.batch = 1;
  gemm.type_a = gemm.type_b = gemm.type_c = gemm.type_d = kBf16;
  gemm.compute_type = 68;  // CUBLAS_COMPUTE_32F
  gemm.transpose_a = true;
  gemm.beta_zero = true;
  return gemm;
}

double BoardWatts(const gpu_model::GpuModel& gpu, const Estimate& estimate) {
  const double held = gpu.power->held_share * gpu.power_limit_watts;
  return std::min(held, gpu.power->floor_watts + estimate.draw.watts);
}

// Rows of ai-dynamo/aiconfigurator 095f58a5 whose power was read: bf16, TensorRT-LLM and vLLM.
TEST(PowerModelTest, LargeGemmsReachTheLimit) {
  struct Row {
    const char* gpu;
    std::uint64_t size;
    double watts;
  };
  for (const Row& row : {Row{"B200-SXM-180GB", 4096, 962}, Row{"B200-SXM-180GB", 8192, 988},
                         Row{"GB200", 4096, 1168}, Row{"GB200", 8192, 1173},
                         Row{"H200-SXM-141GB", 4096, 692}, Row{"H200-SXM-141GB", 8192, 691}}) {
    const auto& gpu = Gpu(row.gpu);
    EXPECT_NEAR(BoardWatts(gpu, Of(gpu, Square(row.size))), row.watts, 0.03 * row.watts)
        << row.gpu << " " << row.size;
  }
}

// The same stack's burst and sustained times: TensorRT-LLM on B200 and GB200, vLLM on H200, medians
// of GEMMs between 0.6 and 0.7 of the peak, 20 to 700 us.
TEST(PowerModelTest, GemmsWithoutPauseSlowDownAsMeasured) {
  const Duty duty = {.matrix_seconds = 0.65e-4, .memory_seconds = 0.2e-4};
  const auto duration = base::Duration::FromSeconds(1e-4);
  for (const auto& [name, measured] :
       {std::pair{"B200-SXM-180GB", 1.167}, std::pair{"GB200", 1.241},
        std::pair{"H200-SXM-141GB", 1.093}}) {
    const auto& gpu = Gpu(name);
    EXPECT_NEAR(SlowdownAtLimit(gpu, DrawOf(gpu, duty, duration)), measured, 0.03) << name;
  }
}

TEST(PowerModelTest, WorkBoundByMemoryStaysBelowTheLimitAndKeepsItsTime) {
  const kernel::Copy copy = {.kind = workload::CopyKind::kDeviceToDevice, .bytes = 1u << 30};
  for (const char* name : {"B200-SXM-180GB", "GB200", "H200-SXM-141GB", "H100-SXM5-80GB"}) {
    const auto& gpu = Gpu(name);
    const Estimate estimate = Of(gpu, copy);
    EXPECT_EQ(estimate.draw.clock_share, 0) << name;
    EXPECT_EQ(SlowdownAtLimit(gpu, estimate.draw), 1) << name;
    EXPECT_GT(estimate.draw.watts, 0.5 * gpu.power->memory_watts) << name;
  }
}

TEST(PowerModelTest, ALowerLimitSlowsGemmsMore) {
  gpu_model::GpuModel gpu = Gpu("H100-SXM5-80GB");
  const Draw draw = Of(gpu, Square(8192)).draw;
  const double at_700 = SlowdownAtLimit(gpu, draw);
  gpu.power_limit_watts = 500;
  const double at_500 = SlowdownAtLimit(gpu, draw);

  // Room above the floor, 565 and 367 W: about the cube root of their ratio, and a little more
  // because the memory's chips draw the same.
  EXPECT_NEAR(at_500 / at_700, 1.156, 0.003);
}

// The same die draws the same for a byte: less at the whole bandwidth where that is lower.
TEST(PowerModelTest, BytesDrawByTheirNumberOnADieWithOtherMemory) {
  const auto& h200 = Gpu("H200-SXM-141GB");
  for (const char* name : {"H100-SXM5-80GB", "H100-SXM5-96GB-HBM2e"}) {
    const auto& gpu = Gpu(name);
    const double bandwidths = static_cast<double>(gpu.memory_bytes_per_second) /
                              static_cast<double>(h200.memory_bytes_per_second);
    EXPECT_NEAR(gpu.power->memory_watts, bandwidths * h200.power->memory_watts, 1) << name;
    EXPECT_NEAR(gpu.power->matrix_bytes_watts, bandwidths * h200.power->matrix_bytes_watts, 1)
        << name;
    EXPECT_EQ(gpu.power->matrix_rate_watts, h200.power->matrix_rate_watts) << name;
  }
}

TEST(PowerModelTest, TheMemorysChipsDrawAPartOfWhatMovingBytesDoes) {
  const auto& gpu = Gpu("H200-SXM-141GB");
  const Draw draw = DrawOf(gpu, {.memory_seconds = 0.8e-4}, base::Duration::FromSeconds(1e-4));

  EXPECT_NEAR(draw.memory_watts, 0.8 * 4.8e12 * 8 * 3.9e-12, 0.5);
  EXPECT_LT(draw.memory_watts, 0.3 * draw.watts);
}

TEST(PowerModelTest, ASlowerClockDrawsLess) {
  const auto& gpu = Gpu("H200-SXM-141GB");
  const auto slower = gpu_model::AtClock(gpu, 0.8);
  const Draw own = Of(gpu, Square(8192)).draw;
  const Draw at_clock = Of(slower, Square(8192)).draw;

  EXPECT_LT(at_clock.watts, 0.62 * own.watts);
  EXPECT_GT(at_clock.watts, 0.45 * own.watts);
}

TEST(PowerModelTest, AGpuWhosePowerIsNotKnownDrawsNothing) {
  const Estimate estimate = Of(Gpu("A100-SXM4-80GB"), Square(8192));

  EXPECT_EQ(estimate.draw.watts, 0);
  EXPECT_EQ(SlowdownAtLimit(Gpu("A100-SXM4-80GB"), estimate.draw), 1);
}

}  // namespace
}  // namespace eidolon::timing::model
