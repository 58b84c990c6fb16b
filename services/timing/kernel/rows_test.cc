#include <gtest/gtest.h>

#include <array>
#include <string>

#include "services/contract/workload/pointer_tag.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/sort_launches_test.h"

namespace eidolon::timing::kernel {
namespace {

Demand DemandOfRows(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

Demand LayerNorm(std::uint32_t rows, std::int32_t width, const char* squares = "false") {
  const std::string name =
      std::string("void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float, ") +
      squares +
      ">(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, "
      "float*, c10::BFloat16*)";
  return DemandOfRows(LaunchBuilder(name)
                          .Grid(rows)
                          .Block(32, 4)
                          .Add<std::int32_t>(width)
                          .Add(1e-5f)
                          .Pointer()
                          .Pointer()
                          .Pointer()
                          .Pointer()
                          .Pointer()
                          .Pointer()
                          .Build());
}

TEST(RowsTest, ARowOfALayerNormCostsTheSameMergeWhateverItsWidth) {
  const Demand narrow = LayerNorm(100, 512);
  const Demand wide = LayerNorm(100, 1024);

  EXPECT_DOUBLE_EQ(wide.bytes, 2 * narrow.bytes);
  EXPECT_GT(narrow.address_operations, 0);
  EXPECT_DOUBLE_EQ(wide.address_operations, narrow.address_operations);
}

TEST(RowsTest, AnRmsNormHasNothingToMerge) {
  EXPECT_DOUBLE_EQ(LayerNorm(100, 512, "true").address_operations, 0);
  EXPECT_DOUBLE_EQ(LayerNorm(100, 512, "true").serial_steps, 2);
}

TEST(RowsTest, AThreadOfALayerNormWaitsForEveryPieceOfItsRowTwice) {
  EXPECT_DOUBLE_EQ(LayerNorm(1, 512).serial_steps, 2);
  EXPECT_DOUBLE_EQ(LayerNorm(1, 5120).serial_steps, 20);
  EXPECT_DOUBLE_EQ(LayerNorm(1000, 512).serial_steps, 2);
}

TEST(RowsTest, AThreadOfALossWaitsForEachOfItsRows) {
  const Demand loss = DemandOfRows(LossOfRows(4096, 1000, 256));
  const Demand gradient = DemandOfRows(GradientOfLoss(4096, 1000, 256));

  EXPECT_EQ(loss.family, Family::kLoss);
  EXPECT_EQ(loss.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(loss.cold_loads, 2.2 * 16);
  EXPECT_DOUBLE_EQ(gradient.cold_loads, 16);
  EXPECT_DOUBLE_EQ(gradient.clocks, 4096);  // A sector each, from one multiprocessor.
  EXPECT_DOUBLE_EQ(DemandOfRows(LossOfRows(100, 1000, 256)).cold_loads, 2.2);
}

constexpr char kAccessor[] =
    "torch::headeronly::detail::GenericPackedTensorAccessor<torch::headeronly::detail::"
    "TensorAccessor<c10::ArrayRef<long>, float const, 2ul, torch::headeronly::RestrictPtrTraits, "
    "int>, at::detail::IndexBoundsCheck<3ul, int>, float const, 3ul, "
    "torch::headeronly::RestrictPtrTraits, int>";

std::string AccessorBytes(const std::array<std::int32_t, 3>& sizes,
                          const std::array<std::int32_t, 3>& strides) {
  StructBytes bytes(32);
  bytes.Set(0, workload::kPointerTag);
  for (std::size_t d = 0; d < 3; ++d) {
    bytes.Set(8 + 4 * d, sizes[d]);
    bytes.Set(20 + 4 * d, strides[d]);
  }
  return bytes.bytes();
}

TEST(RowsTest, ASizeThatBatchNormDoesNotReadComesFromStrides) {
  const std::string name =
      std::string(
          "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, float, "
          "float, float, int>(") +
      kAccessor + ", float)";

  const Demand demand = DemandOfRows(LaunchBuilder(name)
                                         .Grid(64)
                                         .Block(512)
                                         .AddBytes(AccessorBytes({8, 0, 1000}, {64000, 1000, 1}), 8)
                                         .Add(1e-5f)
                                         .Build());

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 8.0 * 64 * 1000 * 4);
}

TEST(RowsTest, AnOutputWhoseSizesNobodyReadsIsAsLargeAsTheInput) {
  const std::string name =
      std::string(
          "void at::native::batch_norm_transform_input_kernel<float, float, float, true, "
          "int>(") +
      kAccessor + ", " + kAccessor + ", float)";

  const Demand demand =
      DemandOfRows(LaunchBuilder(name)
                       .Grid(64)
                       .Block(512)
                       .AddBytes(AccessorBytes({8, 64, 1000}, {64000, 1000, 1}), 8)
                       .AddBytes(AccessorBytes({0, 0, 0}, {64000, 1000, 1}), 8)
                       .Add(1e-5f)
                       .Build());

  EXPECT_DOUBLE_EQ(demand.bytes, 2 * 8.0 * 64 * 1000 * 4);
}

// 2 planes of 100 x 100, windows of 4 by 4, 97 x 97 outputs each.
LaunchBuilder Pool(const char* name) {
  constexpr std::int32_t kOutputs = 2 * 97 * 97;
  LaunchBuilder builder{name};
  builder.Grid(100).Block(256).Add(kOutputs).Pointer();
  for (const std::int64_t size : {2, 100, 100}) builder.Add(size);
  for (const std::int32_t size : {97, 97, 4, 4, 1, 1, 0, 0}) builder.Add(size);
  return builder;
}

TEST(RowsTest, MaxPoolingWritesIndicesAndVisitsEveryPlaceOfAWindow) {
  const Demand demand = DemandOfRows(
      Pool("_ZN2at6native52_GLOBAL__N__3235d1b4_19_DilatedMaxPool2d_cu_6258b57421max_pool_"
           "forward_nchwIfiEEvT0_PKT_llliiiiiiiiiiPS4_Pl")
          .Add<std::int32_t>(1)
          .Add<std::int32_t>(1)
          .Pointer()
          .Pointer()
          .Build());

  EXPECT_EQ(demand.family, Family::kPooling);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 2 * 100 * 100 * 4.0 + 2 * 97 * 97 * 12.0);
  EXPECT_DOUBLE_EQ(demand.address_operations, 2 * 97 * 97 * 16 * 21.0);
}

TEST(RowsTest, AveragePoolingWritesNoIndices) {
  const Demand demand = DemandOfRows(
      Pool("_ZN2at6native49_GLOBAL__N__528a9ea4_16_AveragePool2d_cu_fb80407625avg_pool2d_out_"
           "cuda_frameIffEEviPKT_lllliiiiiiiPS3_ibb")
          .Pointer()
          .Build());

  EXPECT_DOUBLE_EQ(demand.bytes, 2 * 100 * 100 * 4.0 + 2 * 97 * 97 * 4.0);
}

TEST(RowsTest, DepthwiseConvolutionKnowsItsWindowFromItsNameOrItsParameters) {
  const auto places = [](const char* window, std::int32_t side) {
    const std::string name = std::string("void at::native::conv_depthwise2d_forward_kernel<") +
                             window + ", float, int>(A, A, A, A, bool, int, int, int, int, int, " +
                             "int, int, int, int, int, int, int, int, int, int)";
    LaunchBuilder builder(name);
    builder.Grid(100).Block(256);
    for (int i = 0; i < 4; ++i) builder.AddBytes(std::string(40, '\0'), 8);
    builder.Add(std::int8_t{0});
    for (const std::int32_t number : {8 * 30 * 30, 8, 1, 32, 32, 30, 30, side, side, 1, 1}) {
      builder.Add(number);
    }
    return DemandOfRows(builder.Build()).address_operations / (8 * 30 * 30 * 17.7);
  };

  EXPECT_DOUBLE_EQ(places("3", 0), 9);
  EXPECT_DOUBLE_EQ(places("0", 7), 49);
}

Demand ScanOfRows(std::uint32_t rows, std::uint32_t width, std::uint32_t lanes) {
  return DemandOfRows(
      LaunchBuilder("_ZN2at6native32tensor_kernel_scan_innermost_dimIfSt4plusIfEEEvPT_"
                    "PKS4_jjjS4_T0_")
          .Grid(1024)
          .Block(lanes, 512 / lanes)
          .Pointer()
          .Pointer()
          .Add(rows)
          .Add(width)
          .Add<std::uint32_t>(4)
          .Add(0.0f)
          .Build());
}

TEST(RowsTest, AScanReadsAndWritesItsRowsOnce) {
  const Demand demand = ScanOfRows(32768, 4096, 16);

  EXPECT_EQ(demand.family, Family::kScan);
  EXPECT_DOUBLE_EQ(demand.bytes, 32768.0 * 4096 * 8);
}

TEST(RowsTest, AScanGoesAlongItsRowsPieceByPiece) {
  const Demand demand = ScanOfRows(32768, 4096, 16);

  EXPECT_TRUE(demand.in_step);
  EXPECT_DOUBLE_EQ(demand.dependent_loads, 128);  // Of 32 elements.
  EXPECT_DOUBLE_EQ(ScanOfRows(65536, 4096, 16).dependent_loads, 256);
  EXPECT_DOUBLE_EQ(ScanOfRows(32768, 4096, 512).dependent_loads, 4 * 32);
  // Wide rows add up in more stages: five of 16 lanes, ten of 512.
  EXPECT_DOUBLE_EQ(demand.dependent_clocks, 128 * (331 + 5 * 120));
  EXPECT_DOUBLE_EQ(ScanOfRows(1024, 4096, 512).dependent_clocks, 4 * (331 + 10 * 120));
}

Demand PoolBackward(std::int32_t kernel, std::int32_t stride, std::int32_t pooled) {
  LaunchBuilder builder(
      "void at::native::(anonymous namespace)::max_pool_backward_nchw<c10::BFloat16, float, int>("
      "c10::BFloat16 const*, long const*, int, int, int, int, int, int, int, int, int, int, int, "
      "int, int, int, c10::BFloat16*)");
  builder.Grid(49, 16, 64).Block(256).Pointer().Pointer();
  for (const std::int32_t size :
       {16, 64, 112, 112, pooled, pooled, kernel, kernel, stride, stride, 1, 1, 1, 1}) {
    builder.Add(size);
  }
  return DemandOfRows(builder.Pointer().Build());
}

TEST(RowsTest, AGradientOfMaxPoolingLooksIntoEachWindowOfAPlace) {
  constexpr double kPlaces = 16.0 * 64 * 112 * 112;
  const Demand apart = PoolBackward(2, 2, 56);
  const Demand overlapping = PoolBackward(3, 2, 56);

  EXPECT_EQ(apart.family, Family::kPooling);
  EXPECT_EQ(apart.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(apart.bytes, kPlaces * 2 + kPlaces / 4 * (2 + 8));
  EXPECT_DOUBLE_EQ(apart.dependent_loads, 1);
  EXPECT_DOUBLE_EQ(overlapping.dependent_loads, 2);
  EXPECT_DOUBLE_EQ(overlapping.instructions - apart.instructions, kPlaces * 3 * 12.5);
  EXPECT_GT(PoolBackward(3, 1, 112).instructions, overlapping.instructions);
}

}  // namespace
}  // namespace eidolon::timing::kernel
