#include "services/timing/model/convolution_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/base/random.h"
#include "services/contract/cudnn_numbers/operation.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/model/dnn_tensors.h"

namespace eidolon::timing::model {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::uint32_t kBf16 = 14;  // cudaDataType_t.
constexpr std::uint32_t kFp32 = 0;

const gpu_model::GpuModel& Gpu(const std::string& name) {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find(name);
}

// [N, C, ...] one after the other, or with the channels innermost.
kernel::DnnTensor Tensor(std::int64_t uid, const Sizes& dims, bool channels_last,
                         std::uint32_t type) {
  kernel::DnnTensor tensor = kernel::TensorOf(uid, dims, type);
  std::int64_t stride = channels_last ? dims[1] : 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (channels_last && d == 1) continue;
    tensor.strides[d] = stride;
    stride *= dims[d];
  }
  if (channels_last) tensor.strides[1] = 1;
  return tensor;
}

struct ConvolutionCase {
  Sizes image;
  std::int64_t filters = 0;
  Sizes window;
  std::int64_t step = 1;
  bool channels_last = false;
  std::uint32_t type = kBf16;
  cudnn_numbers::Operation kind = cudnn_numbers::kConvolutionForward;
  bool without_tensor_cores = false;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};

double Microseconds(const ConvolutionCase& c, const std::string& gpu = "H100-SXM5-80GB") {
  Sizes filter = {c.filters, c.image[1] / c.groups};
  Sizes response = {c.image[0], c.filters};
  for (std::size_t d = 0; d < c.window.size(); ++d) {
    filter.push_back(c.window[d]);
    const std::int64_t reach = c.dilation * (c.window[d] - 1) + 1;
    response.push_back((c.image[d + 2] + 2 * c.pad - reach) / c.step + 1);
  }
  kernel::DnnGraph graph;
  if (c.without_tensor_cores) graph.engine = workload::kPlainDnnEngine;
  graph.tensors = {Tensor(1, c.image, c.channels_last, c.type),
                   Tensor(2, filter, c.channels_last, c.type),
                   Tensor(3, response, c.channels_last, c.type)};
  using Uids = std::vector<std::int64_t>;
  const bool data = c.kind == cudnn_numbers::kConvolutionBackwardData;
  const bool weights = c.kind == cudnn_numbers::kConvolutionBackwardFilter;
  const auto operation =
      kernel::OperationOf(c.kind, data ? Uids{3, 2} : (weights ? Uids{1, 3} : Uids{1, 2}),
                          data ? Uids{1} : (weights ? Uids{2} : Uids{3}));
  graph.operations = {kernel::ConvolutionOf(operation, static_cast<std::uint32_t>(c.window.size()),
                                            c.pad, c.step, c.dilation)};
  const auto found = PredictConvolution(Gpu(gpu), graph, graph.operations[0]);
  return found ? found->seconds * 1e6 : 0;
}

TEST(ConvolutionModelTest, PadsThreeChannelsOfEveryPlaceToAWholePiece) {
  const double three = Microseconds({{1, 3, 1008, 1008}, 1024, {14, 14}, 14, true});
  const double whole = Microseconds({{1, 32, 1008, 1008}, 1024, {14, 14}, 14, true});

  // cuDNN's GEMM alone took 196.6 us (TraceLens, OWLv2).
  EXPECT_NEAR(three, 196.6, 25);
  // A whole piece takes as many operations, by faster kernels.
  EXPECT_GT(three, whole);
  EXPECT_LT(three, 2 * whole);
}

TEST(ConvolutionModelTest, WindowsWhosePlacesLieFarApartGoToOlderKernels) {
  // DeepLab's at 12 places' distance on an H100 take 611, 677 and 822 us; those at 4, of a quarter
  // of the channels and twice the filters, 187 (e2e/measured/h100/model_traces.jsonl.gz).
  ConvolutionCase c{{8, 2048, 64, 64}, 256, {3, 3}, 1, true};
  c.pad = c.dilation = 12;
  EXPECT_NEAR(Microseconds(c), 611, 90);
  c.kind = cudnn_numbers::kConvolutionBackwardData;
  EXPECT_NEAR(Microseconds(c), 677, 100);
  c.kind = cudnn_numbers::kConvolutionBackwardFilter;
  EXPECT_NEAR(Microseconds(c), 822, 200);

  ConvolutionCase near{{8, 512, 64, 64}, 512, {3, 3}, 1, true};
  near.pad = near.dilation = 4;
  EXPECT_NEAR(Microseconds(near, "H100-SXM5-80GB"), 187, 40);
}

TEST(ConvolutionModelTest, ChannelsOfGroupsArePaddedToWholeTiles) {
  // All kernels of RegNetY-160's second stage, four groups of 112 channels, on an H100: 521 and 508
  // us, 1,111 from places four times as many (e2e/measured/h100/model_traces.jsonl.gz).
  ConvolutionCase c{{64, 448, 28, 28}, 448, {3, 3}, 1, true};
  c.pad = 1;
  c.groups = 4;
  EXPECT_NEAR(Microseconds(c), 521, 60);
  ConvolutionCase strided = c;
  strided.image = {64, 448, 56, 56};
  strided.step = 2;
  EXPECT_NEAR(Microseconds(strided), 1111, 150);
  c.kind = cudnn_numbers::kConvolutionBackwardData;
  EXPECT_NEAR(Microseconds(c), 508, 60);

  // Whole tiles need no padding.
  ConvolutionCase whole{{64, 512, 28, 28}, 512, {3, 3}, 1, true};
  whole.pad = 1;
  whole.groups = 4;
  EXPECT_LT(Microseconds(whole), 150);
}

TEST(ConvolutionModelTest, ChangesLayoutsOnlyWhereChannelsComeFirst) {
  // The GEMM is the same kernel for both in three dimensions.
  const ConvolutionCase first{{1, 192, 1, 256, 256}, 96, {1, 3, 3}, 1};
  ConvolutionCase last = first;
  last.channels_last = true;

  // 25.6, 3.3 and 10.8 us around a GEMM of 86 (TraceLens, Wan).
  EXPECT_NEAR(Microseconds(first) - Microseconds(last), 39.7, 10);
}

TEST(ConvolutionModelTest, ChangesTheLayoutOfAFilterOfFewPlacesSlowly) {
  const ConvolutionCase three{{1, 384, 3, 32, 32}, 768, {3, 1, 1}};
  ConvolutionCase last = three;
  last.channels_last = true;

  // The filter alone took 15.8 us, a hundredth of the picture's rate (TraceLens, Wan).
  EXPECT_GT(Microseconds(three) - Microseconds(last), 15);
}

TEST(ConvolutionModelTest, GradientsOfChannelsLastAreAsFastAsForwards) {
  // ResNet-50's windows of 128 channels on H200: 90.7, 90.5 and 105 us (e2e/measured).
  ConvolutionCase c{{256, 128, 28, 28}, 128, {3, 3}, 1, true};
  c.pad = 1;
  EXPECT_NEAR(Microseconds(c, "H200-SXM-141GB"), 90.7, 8);
  c.kind = cudnn_numbers::kConvolutionBackwardData;
  EXPECT_NEAR(Microseconds(c, "H200-SXM-141GB"), 90.5, 8);
  c.kind = cudnn_numbers::kConvolutionBackwardFilter;
  EXPECT_NEAR(Microseconds(c, "H200-SXM-141GB"), 105, 10);
}

TEST(ConvolutionModelTest, MultipliesPointsAsTheyLie) {
  const ConvolutionCase first{{1, 384, 32, 32}, 1152, {1, 1}};
  ConvolutionCase last = first;
  last.channels_last = true;

  EXPECT_DOUBLE_EQ(Microseconds(first), Microseconds(last));
  EXPECT_LT(Microseconds(first), 12);
}

TEST(ConvolutionModelTest, FollowsLayersThatGaveNoConstants) {
  struct Row {
    const char* layer;
    ConvolutionCase convolution;
    double measured_us;  // H100 (e2e/measured/h100/convolutions.jsonl.gz).
  };
  constexpr auto kData = cudnn_numbers::kConvolutionBackwardData;
  constexpr auto kFilter = cudnn_numbers::kConvolutionBackwardFilter;
  const ConvolutionCase pictures{{32, 256, 112, 112}, 384, {3, 3}, 1, true, kFp32};
  ConvolutionCase backward = pictures, weights = pictures;
  backward.kind = kData;
  weights.kind = kFilter;
  for (ConvolutionCase* padded : {&backward, &weights}) padded->pad = 1;
  ConvolutionCase forward = backward;
  forward.kind = cudnn_numbers::kConvolutionForward;
  const ConvolutionCase large{{64, 1280, 32, 32}, 64, {7, 7}, 1, true, kBf16, kData, false, 3};
  const ConvolutionCase patches{{1, 192, 224, 224}, 640, {14, 14}, 14};
  const ConvolutionCase points{{4, 2048, 8, 16, 16}, 384, {1, 1, 1}};
  for (const Row& row :
       {Row{"TF32", forward, 1831.3}, Row{"TF32, of the image", backward, 2002.6},
        Row{"TF32, of the filter", weights, 3894.8}, Row{"of the image, 7 x 7", large, 712.7},
        Row{"patches of 14 x 14", patches, 404.4}, Row{"points", points, 19.7}}) {
    EXPECT_NEAR(Microseconds(row.convolution), row.measured_us, 0.15 * row.measured_us)
        << row.layer;
  }
}

TEST(ConvolutionModelTest, AProgramThatForbidsTf32WaitsForSinglePrecision) {
  ConvolutionCase c{{2, 512, 90, 90}, 1024, {1, 1}, 1, false, kFp32};
  const double tf32 = Microseconds(c);
  c.without_tensor_cores = true;

  EXPECT_NEAR(Microseconds(c), 647.4, 65);  // H100, e2e/measured.
  EXPECT_LT(tf32, 200);
}

TEST(ConvolutionModelTest, NobodyHelpsTheOneTileOfALongSum) {
  // One tile on one multiprocessor, though 131 others idle: 16 x 16 places of 512 channels, 1.3 ms
  // for 8 x 8 x 8 places (H100, e2e/measured).
  const double few = Microseconds({{8, 512, 128, 128}, 96, {16, 16}, 16});
  const double more = Microseconds({{8, 512, 128, 128}, 128, {16, 16}, 16});

  EXPECT_NEAR(few, 1304, 150);
  EXPECT_NEAR(more, few, 20);
}

// Every size alone; channels and filters by whole vectors, because cuDNN has slower kernels for
// others, as it has for very few of either.
TEST(ConvolutionModelTest, TakesLongerWithMoreOfAnySize) {
  base::Random random(11);
  for (const std::string gpu : {"H100-SXM5-80GB", "A100-SXM4-80GB", "B200-SXM-180GB"}) {
    for (int round = 0; round < 4000; ++round) {
      ConvolutionCase less{{1, 1, 16, 16}, 1, {3, 3}};
      less.type = random.Below(2) == 0 ? kBf16 : kFp32;
      less.channels_last = random.Below(2) == 0;
      const auto size = [&](unsigned bits) {
        return static_cast<std::int64_t>(1 + random.Below(std::uint64_t{1} << random.Below(bits)));
      };
      less.image[0] = size(7);
      less.image[1] = 4 + size(10);
      less.filters = 16 + size(10);
      if (random.Below(2) == 0) {
        less.image.push_back(16);
        less.window.push_back(3);
      }
      ConvolutionCase more = less;
      constexpr std::int64_t kVector = 8;
      switch (random.Below(4)) {
        case 0:
          more.image[0] += size(7);
          break;
        case 1:
          more.image[1] += kVector * size(6);
          break;
        case 2:
          more.image[2] += size(7);
          break;
        default:
          more.filters += kVector * size(4);
      }

      EXPECT_GE(Microseconds(more, gpu) * (1 + 1e-9), Microseconds(less, gpu))
          << gpu << " batch " << less.image[0] << ", channels " << less.image[1] << ", filters "
          << less.filters << " to batch " << more.image[0] << ", channels " << more.image[1]
          << ", filters " << more.filters << ", height " << more.image[2] << ", dims "
          << less.image.size() << (less.channels_last ? ", channels last" : "")
          << (less.type == kBf16 ? ", bf16" : ", fp32");
    }
  }
}

}  // namespace
}  // namespace eidolon::timing::model
