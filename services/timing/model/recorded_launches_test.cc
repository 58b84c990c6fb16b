// Rules of kernels that move by index, select, sort or normalise, beside the durations of the same
// launches on an H100 (e2e/measured/h100/scattered.jsonl.gz and step_traces.jsonl.gz), none of
// which gave a constant.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "services/contract/workload/pointer_tag.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/index_launches_test.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/sort_launches_test.h"
#include "services/timing/model/estimator.h"

namespace eidolon::timing::model {
namespace {

using kernel::CountInBins;
using kernel::GradientOfLoss;
using kernel::IndexedRows;
using kernel::KernelLaunch;
using kernel::LossOfRows;
using kernel::Pictures;
using kernel::SelectInBlocks;
using kernel::SortSegments;

struct RecordedRow {
  std::string what;
  KernelLaunch launch;
  double microseconds = 0;
};

double PredictedMicroseconds(const KernelLaunch& launch) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  Estimator estimator(nullptr);
  return estimator.Of(**catalog.Find("H100-SXM5-80GB"), launch).duration.Seconds() * 1e6;
}

// Each within `error` of what was measured, and all together within `bias`.
void ExpectAgreement(const std::vector<RecordedRow>& all, double error, double bias) {
  double sum = 0;
  for (const RecordedRow& one : all) {
    const double off = PredictedMicroseconds(one.launch) / one.microseconds - 1;
    EXPECT_LT(std::abs(off), error) << one.what << ": " << off;
    sum += off;
  }
  EXPECT_LT(std::abs(sum / static_cast<double>(all.size())), bias);
}

IndexedRows WideRows(std::uint32_t rows, std::uint32_t width, std::uint32_t indices) {
  return {.rows = rows, .width = width, .indices = indices};
}
IndexedRows NarrowRows(std::uint32_t rows, std::uint32_t width, std::uint32_t indices) {
  return {.rows = rows, .width = width, .indices = indices, .type = "c10::BFloat16", .bytes = 2};
}

TEST(RecordedLaunchesTest, CopiesByIndex) {
  ExpectAgreement({{"few rows", IndexCopy(WideRows(128, 1024, 8192)), 24.7},
                   {"words", IndexCopy(WideRows(50'304, 768, 8192)), 24.9},
                   {"long rows", IndexCopy(WideRows(128'256, 4096, 8192)), 125.2},
                   {"short rows", IndexCopy(WideRows(8192, 256, 65'536)), 52.7},
                   {"a large table", IndexCopy(WideRows(1'000'000, 64, 65'536)), 14.3},
                   {"narrow words", IndexCopy(NarrowRows(50'304, 768, 8192)), 18.8},
                   {"narrow long rows", IndexCopy(NarrowRows(128'256, 4096, 8192)), 107.7}},
                  0.16, 0.09);
}

TEST(RecordedLaunchesTest, ScatteredSums) {
  ExpectAgreement({{"few rows", Scatter(WideRows(128, 1024, 8192)), 24.5},
                   {"words", Scatter(WideRows(50'304, 768, 8192)), 29.0},
                   {"long rows", Scatter(WideRows(128'256, 4096, 8192)), 164.3},
                   {"short rows", Scatter(WideRows(8192, 256, 65'536)), 50.6},
                   {"narrow words", Scatter(NarrowRows(50'304, 768, 8192)), 26.2},
                   {"narrow long rows", Scatter(NarrowRows(128'256, 4096, 8192)), 135.0},
                   {"narrow short rows", Scatter(NarrowRows(8192, 256, 65'536)), 63.8}},
                  0.16, 0.05);
}

TEST(RecordedLaunchesTest, GathersOfRows) {
  ExpectAgreement({{"few rows", MoveRows(WideRows(128, 1024, 8192)), 11.8},
                   {"words", MoveRows(WideRows(50'304, 768, 8192)), 17.7},
                   {"long rows", MoveRows(WideRows(128'256, 4096, 8192)), 96.4},
                   {"rows that come again", MoveRows(WideRows(16, 4096, 4096)), 22.7},
                   {"short rows", MoveRows(WideRows(1'000'000, 64, 65'536)), 40.8},
                   {"narrow long rows", MoveRows(NarrowRows(128'256, 4096, 8192)), 49.3}},
                  0.16, 0.08);
}

TEST(RecordedLaunchesTest, RowsThatMayBeAddedInTurnHaveAWideError) {
  // index_put_ of 8192 rows of 1024 numbers, accumulating: 27.1 us into 1024 rows, 56.4 into 128;
  // the launch is the same.
  const KernelLaunch launch =
      kernel::LaunchBuilder(
          "void (anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, "
          "long const*, float const*, float*, long, long, long, long, bool)")
          .Grid(2048, 8)
          .Block(32, 4)
          .Pointer()
          .Pointer()
          .Pointer()
          .Pointer()
          .Add<std::int64_t>(8192)
          .Add<std::int64_t>(1024)
          .Add<std::int64_t>(1024)
          .Add<std::int64_t>(1)
          .Add<std::int8_t>(1)
          .Build();
  Estimator estimator(nullptr);
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  const Estimate found = estimator.Of(**catalog.Find("H100-SXM5-80GB"), launch);
  EXPECT_GE(found.relative_error, 1);
  const double us = found.duration.Seconds() * 1e6;
  EXPECT_LT(us * (1 - found.relative_error), 27.1);
  EXPECT_GT(us * (1 + found.relative_error), 56.4);
}

TEST(RecordedLaunchesTest, SumsOfBags) {
  ExpectAgreement({{"long bags", SumBags(WideRows(1'000'000, 64, 65'536), 2048), 12.3},
                   {"wide rows", SumBags(WideRows(1'000'000, 128, 65'536), 8192), 26.2},
                   {"one each", SumBags(WideRows(100'000, 64, 65'536), 65'536), 45.8}},
                  0.33, 0.17);
}

TEST(RecordedLaunchesTest, SmallBatchNorms) {
  constexpr char kStatistics[] = "batch_norm_collect_statistics_kernel";
  constexpr char kTransform[] = "batch_norm_transform_input_kernel";
  constexpr char kBackward[] = "batch_norm_backward_kernel";
  const Pictures seven{.members = 16, .channels = 2048, .places = 49};
  const Pictures fourteen{.members = 16, .channels = 1024, .places = 196};
  const Pictures few{.members = 16, .channels = 256, .places = 196};
  ExpectAgreement({{"statistics, 7 by 7", NormBatch(kStatistics, 1, seven, 64, 8), 16.6},
                   {"statistics, 14 by 14", NormBatch(kStatistics, 1, fourteen, 256, 2), 13.9},
                   {"statistics, few channels", NormBatch(kStatistics, 1, few, 256, 2), 5.2},
                   {"transform, 7 by 7", NormBatch(kTransform, 2, seven, 64, 1), 21.2},
                   {"transform, 14 by 14", NormBatch(kTransform, 2, fourteen, 64, 1), 11.8},
                   {"transform, few channels", NormBatch(kTransform, 2, few, 64, 1), 4.5},
                   {"backward, 7 by 7", NormBatch(kBackward, 3, seven, 64, 8), 18.1},
                   {"backward, 14 by 14", NormBatch(kBackward, 3, fourteen, 256, 2), 23.2},
                   {"backward, few channels", NormBatch(kBackward, 3, few, 256, 2), 9.2}},
                  0.5, 0.25);
}

TEST(RecordedLaunchesTest, SelectionsInABlockEach) {
  ExpectAgreement({{"one long row", SelectInBlocks(1, 4096, 8, "float"), 19.4},
                   {"rows", SelectInBlocks(32, 1024, 8, "float"), 12.3},
                   {"rows, a hundred", SelectInBlocks(32, 1024, 100, "float"), 12.8}},
                  0.7, 0.4);
}

TEST(RecordedLaunchesTest, Histograms) {
  constexpr std::int64_t kMillion = 1 << 20;
  ExpectAgreement({{"few bins", CountInBins("float", 16 * kMillion, 16), 195.4},
                   {"bins", CountInBins("float", 16 * kMillion, 64), 98.1},
                   {"many bins", CountInBins("float", 16 * kMillion, 1024), 78.3},
                   {"bins of few", CountInBins("float", kMillion, 64), 7.7},
                   {"few bins of integers", CountInBins("long", 16 * kMillion, 16), 297.0},
                   {"bins of integers", CountInBins("long", 16 * kMillion, 64), 141.5},
                   {"many bins of integers", CountInBins("long", 16 * kMillion, 1024), 97.0},
                   {"in L2", CountInBins("float", 16 * kMillion, 65'536, true), 242.3}},
                  0.27, 0.1);
}

TEST(RecordedLaunchesTest, PassesOfSegmentedSorts) {
  ExpectAgreement({{"keys of 16 bits", SortSegments("c10::BFloat16", 512, 50'304), 316.6},
                   {"keys of 32 bits", SortSegments("float", 512, 50'304), 354.8},
                   {"keys of 64 bits", SortSegments("long", 512, 50'304), 440.7}},
                  0.05, 0.03);
}

TEST(RecordedLaunchesTest, Losses) {
  ExpectAgreement({{"a row each", LossOfRows(16, 1000, 32), 2.2},
                   {"two rows each", LossOfRows(64, 1000, 32), 2.9},
                   {"four rows each", LossOfRows(128, 1000, 32), 4.7},
                   {"eight rows each", LossOfRows(256, 1000, 32), 7.7},
                   {"short", LossOfRows(512, 128'256, 32), 15.7},
                   {"long", LossOfRows(4096, 50'257, 256), 18.7},
                   {"longer", LossOfRows(8192, 128'256, 512), 19.0},
                   {"two rows' gradients", GradientOfLoss(64, 1000, 32), 2.0},
                   {"four rows' gradients", GradientOfLoss(128, 1000, 32), 2.4},
                   {"gradients", GradientOfLoss(4096, 50'257, 256), 10.4},
                   {"longer gradients", GradientOfLoss(8192, 128'256, 512), 11.3}},
                  0.3, 0.15);
}

// A tensor of planes x T x H x W as a GenericPackedTensorAccessor.
std::string Accessor(std::int64_t planes, std::int64_t t, std::int64_t h, std::int64_t w) {
  kernel::StructBytes bytes(72);
  bytes.Set(0, workload::kPointerTag).Set(8, planes).Set(16, t).Set(24, h).Set(32, w);
  bytes.Set(40, t * h * w).Set(48, h * w).Set(56, w).Set(64, std::int64_t{1});
  return bytes.bytes();
}

// Windows of 3 x 3 x 3 in steps of 2 over 16 x 32 volumes in single precision, published on H100 by
// KernelBench (results/timing/H100_modal, level 1, 43 and 46); the constant is that of max_pool2d.
TEST(RecordedLaunchesTest, PoolingOfVolumes) {
  kernel::LaunchBuilder maxima(
      "void at::native::(anonymous namespace)::max_pool3d_with_indices_single_out_frame<float>("
      "float const*, float*, long*, int, int, int, int, int, int, int, int, int, int, int, int, "
      "int, int, int, int, int, int, int, int, int, bool)");
  maxima.Grid(2, 8, 16 * 32 * 62).Block(32, 8).Pointer().Pointer().Pointer();
  for (const int size : {32, 128, 128, 128, 0, 62, 62, 62, 3, 3, 3, 2, 2, 2, 1, 1, 1, 3, 3, 3, 0}) {
    maxima.Add(size);
  }
  maxima.Add(std::int8_t{0});
  const std::string accessor =
      "torch::headeronly::detail::GenericPackedTensorAccessor<torch::headeronly::detail::"
      "TensorAccessor<c10::ArrayRef<long>, float, 3ul, torch::headeronly::DefaultPtrTraits, long>, "
      "torch::headeronly::detail::IndexBoundsCheck<4ul, long>, float, 4ul, "
      "torch::headeronly::DefaultPtrTraits, long>";
  kernel::LaunchBuilder average(
      "void at::native::(anonymous namespace)::avg_pool3d_cuda_update_output<3, float, float>(" +
      accessor + ", " + accessor + ", int, int, int, int, int, int, int, int, bool, int, int)");
  average.Grid(4, 8, 16 * 32 * 64)
      .Block(32, 8)
      .AddBytes(Accessor(512, 128, 128, 256), 8)
      .AddBytes(Accessor(512, 64, 64, 128), 8);
  for (const int size : {3, 3, 2, 2, 2, 1, 1, 1}) average.Add(size);
  average.Add(std::int8_t{1}).Add(0).Add(0);
  ExpectAgreement({{"maxima", maxima.Build(), 3930}, {"averages", average.Build(), 8660}}, 0.15,
                  0.1);
}

TEST(RecordedLaunchesTest, MoreOfEverythingTakesLonger) {
  double last = 0;
  for (std::uint32_t indices = 1024; indices <= 1u << 20; indices *= 4) {
    const double now = PredictedMicroseconds(Scatter(WideRows(50'304, 768, indices / 8)));
    EXPECT_GE(now, last) << indices;
    last = now;
  }
  EXPECT_GE(PredictedMicroseconds(Scatter(NarrowRows(8192, 256, 65'536))),
            PredictedMicroseconds(Scatter(WideRows(8192, 256, 65'536))));
  EXPECT_GE(PredictedMicroseconds(IndexCopy(WideRows(128'256, 4096, 8192))),
            PredictedMicroseconds(IndexCopy(WideRows(128, 4096, 8192))));
}

}  // namespace
}  // namespace eidolon::timing::model
