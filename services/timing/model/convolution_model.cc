#include "services/timing/model/convolution_model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "services/cudnn_numbers/operation.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/model/dnn_tensors.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::DnnGraph;
using kernel::DnnOperation;
using kernel::DnnTensor;
using enum cudnn_numbers::Operation;

// Gradients and grouped convolutions reach this share of a GEMM of the same shape (cuDNN on A100
// and H100, published ResNet traces); the filter gradient reduces over pixels and reaches less.
constexpr double kConvolutionShare = 0.7;
constexpr double kFilterGradientShare = 0.55;

// The tensors of a convolution by role, whatever order the operation lists them in.
struct Convolution {
  const DnnTensor* image = nullptr;     // [N, C, ...]
  const DnnTensor* filter = nullptr;    // [K, C / groups, ...]
  const DnnTensor* response = nullptr;  // [N, K, ...]

  double channels() const { return Dim(*filter, 1); }
  double filters() const { return Dim(*filter, 0); }
  double window() const { return Elements(*filter) / (filters() * channels()); }
  double pixels() const { return Elements(*response) / Dim(*response, 1); }
  double groups() const { return std::max(1.0, std::round(Dim(*image, 1) / channels())); }
  double element() const { return kernel::CudaTypeBytes(filter->type); }
  std::string type() const {
    const std::string name(kernel::CudaTypeName(filter->type));
    return name == "fp32" ? "tf32" : name;  // cuDNN's default in PyTorch.
  }
};

std::optional<Convolution> Roles(const DnnGraph& graph, const DnnOperation& op) {
  const DnnTensor* a = Input(graph, op, 0);
  const DnnTensor* b = Input(graph, op, 1);
  const DnnTensor* out = Output(graph, op);
  if (a == nullptr || b == nullptr || out == nullptr) return std::nullopt;
  if (op.kind == kConvolutionForward) return Convolution{a, b, out};
  // Data first, filter second; the other order only where this one makes no sense.
  if (op.kind == kConvolutionBackwardData) {
    const bool usual = Dim(*a, 0) == Dim(*out, 0) && Dim(*a, 1) == Dim(*b, 0);
    return usual ? Convolution{out, b, a} : Convolution{out, a, b};
  }
  return Dim(*b, 1) == Dim(*out, 0) ? Convolution{a, out, b} : Convolution{b, out, a};
}

double RoundUp(double size, double step) { return std::ceil(size / step) * step; }

// The tensor-core kernels move 16 bytes of channels at a time.
double PaddedChannels(double channels, double element) {
  constexpr double kVectorBytes = 16;
  return RoundUp(channels, kVectorBytes / element);
}

// cuDNN's tensor-core kernels want channels last: 16-bit tensors that are not go through kernels
// that rewrite them (and those of TF32 in ResNet-50, but not in others, e2e/measured), 1.85 to 2.15
// of 3.35 TB/s on H100, in squares of 32 channels by 32 places. Fewer of either leave lanes idle: 3
// channels, padded to 8, take two thirds of the time of 32, filters of 9 places as long as of 32
// (published, e2e/validation/operators.csv).
double LayoutSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  constexpr double kRewriteEfficiency = 0.66;
  constexpr double kSquare = 32;
  constexpr double kIdleChannel = 0.69;
  double seconds = 0;
  for (const DnnTensor* tensor : {roles.image, roles.filter, roles.response}) {
    const double element = kernel::CudaTypeBytes(tensor->type);
    if (element > 2 || !IsChannelsFirst(*tensor)) continue;
    const double channels = Dim(*tensor, 1);
    const double moved = channels < kSquare ? 2 * kSquare - kIdleChannel * (kSquare - channels)
                                            : channels + PaddedChannels(channels, element);
    const double places = Elements(*tensor) / (Dim(*tensor, 0) * channels);
    const double bytes = Dim(*tensor, 0) * std::max(places, kSquare) * moved * element;
    seconds += gpu.kernel_floor.Seconds() + MemorySeconds(gpu, bytes, kRewriteEfficiency);
  }
  return seconds;
}

bool All(const std::vector<std::int64_t>& sizes, std::int64_t wanted) {
  return std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s == wanted; });
}

// One place of the image for one of the response: cuDNN multiplies them as they lie (published
// traces: a CUTLASS GEMM, no change of layout; on H200 cuBLAS's kernels, e2e/measured).
bool IsGemmOfPoints(const DnnOperation& op, const Convolution& roles) {
  return roles.window() == 1 && roles.groups() == 1 && roles.element() <= 2 && All(op.strides, 1) &&
         All(op.pads, 0) && All(op.post_pads, 0);
}

// A filter for each channel, which no tensor core helps with.
bool IsDepthwise(const Convolution& roles) {
  return roles.groups() > 1 && roles.channels() == 1 && roles.filters() == roles.groups();
}

// The share of the FP32 rate that depthwise kernels for channels last reach: 7 by 7 in a ConvNeXt
// on H200, forward, and gradients of the image and the filter (e2e/measured).
double DepthwiseSeconds(const gpu_model::GpuModel& gpu, const DnnOperation& op,
                        const Convolution& roles) {
  constexpr double kForward = 0.21, kImage = 0.11, kFilter = 0.27;
  const double share = op.kind == kConvolutionForward        ? kForward
                       : op.kind == kConvolutionBackwardData ? kImage
                                                             : kFilter;
  return 2 * Elements(*roles.response) * roles.window() / (Rate(gpu, "fp32") * share);
}

// Kernels of sm_90 for 16-bit tensors with channels last (e2e/measured).
bool HasNativeKernels(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  return gpu.compute_major >= 9 && roles.element() <= 2 && !IsChannelsFirst(*roles.image);
}

// Of 16-bit tensors with channels last, on kernels of sm_90 and cuDNN 9.19: every tile pays for
// about three pieces of 64 numbers beside those that it sums up, and tiles of 64 columns are bound
// by shared memory. Windows of 3 by 3 with 64 to 512 channels on H200 (e2e/measured); strided
// points and ResNet-50's first layer gave no number, nor did other layers of ResNet and ConvNeXt.
constexpr double kTileShare = 0.97, kTilePieces = 180, kNarrowTileShare = 0.76;
constexpr double kNativeTile = 64;

double NativeShare(double columns, double summed) {
  return kTileShare * summed / (summed + kTilePieces) *
         (columns <= kNativeTile ? kNarrowTileShare : 1.0);
}

// The forward GEMM by tiles. Constants: the fitted convolutions of e2e/validation/operators.csv
// (H100), less their layout changes and 6 us that lie outside the GEMM.
struct Tiles {
  double flops = 0;  // With what pads sums and tiles.
  double share = 0;  // Of the sustained rate.
};

Tiles ForwardTiles(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  // A window's place takes whole pieces of 64 bytes of channels.
  constexpr double kPieceBytes = 64;
  constexpr double kNarrowTile = 64, kWideTile = 128;
  // 2-D kernels of sm_80 or with tiles of 64 by 128: 329 to 353 of 794 TFLOP/s.
  constexpr double kShare = 0.43;
  // Kernels of sm_90, 3-D ones and those of channels last: 323 TFLOP/s with tiles of 128 by 64,
  // which is as fast as the L2 gives, 580 where two waves of twice the size are full; in between
  // the time must not fall.
  constexpr double kNarrowShare = 0.41, kWideShare = 0.73, kWideWaves = 1.45;
  const double element = roles.element();
  const bool aligned = roles.channels() == PaddedChannels(roles.channels(), element);
  // Unaligned channels go to a kernel with tiles of 256 by 64 (published); so do few filters.
  const bool small = !aligned || (element <= 2 && roles.filters() <= kNarrowTile);
  const bool native = gpu.compute_major >= 9 && element <= 2 && aligned &&
                      (roles.filter->dims.size() > 4 || HasNativeKernels(gpu, roles));
  const double tile_pixels = aligned ? 128 : 256;
  const double rows = std::ceil(roles.pixels() / tile_pixels);
  const double n = RoundUp(roles.filters(), small ? kNarrowTile : kWideTile);
  const double blocks = rows * n / kNarrowTile;
  const double busy = blocks / gpu.multiprocessors;
  Tiles tiles;
  // Kernels for the first layer, of pictures of three colours and few filters, take eight channels.
  constexpr double kFirstChannels = 4, kFirstPadded = 8;
  const bool first = element <= 2 && roles.channels() <= kFirstChannels &&
                     roles.filters() <= kNarrowTile && HasNativeKernels(gpu, roles);
  tiles.flops = 2 * rows * tile_pixels * n * roles.window() *
                (first ? kFirstPadded : RoundUp(roles.channels(), kPieceBytes / element));
  if (native) {
    const double waves = rows * n / kWideTile / gpu.multiprocessors;
    const double filled = kNarrowShare * std::max(1.0, waves / kWideWaves);
    const double summed = RoundUp(roles.channels(), kPieceBytes / element) * roles.window();
    const bool flat = roles.filter->dims.size() <= 4;  // 3-D ones are the published kernels.
    const double widest = flat ? NativeShare(n, summed) : kWideShare;
    tiles.share = std::min({filled, widest, busy});
  } else {
    const double share = gpu.compute_major < 9 ? kConvolutionShare : kShare;
    tiles.share = share * std::min(1.0, busy);
  }
  return tiles;
}

// The filter's gradient sums over all places, which blocks share out: no tile is short.
constexpr double kNativeFilterShare = 0.7;

std::optional<double> NativeGradientSeconds(const gpu_model::GpuModel& gpu, const DnnOperation& op,
                                            const Convolution& roles) {
  if (op.kind == kConvolutionForward || roles.groups() > 1 || !HasNativeKernels(gpu, roles)) {
    return std::nullopt;
  }
  const double rate = Rate(gpu, roles.type());
  const double filters = RoundUp(roles.filters(), kNativeTile);
  if (op.kind == kConvolutionBackwardFilter) {
    const double summed = PaddedChannels(roles.channels(), roles.element()) * roles.window();
    const double share =
        kNativeFilterShare * (roles.filters() <= kNativeTile ? kNarrowTileShare : 1.0);
    return 2 * roles.pixels() * filters * summed / (share * rate);
  }
  const double columns = RoundUp(roles.channels(), kNativeTile);
  const double places = Elements(*roles.image) / Dim(*roles.image, 1);
  const double summed = roles.pixels() * roles.filters() * roles.window() * roles.channels() /
                        (places * roles.channels());
  return 2 * places * columns * summed / (NativeShare(columns, summed) * rate);
}

// Reads overlapping windows once, not once a window.
double OnceSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  return gpu.kernel_floor.Seconds() + MemorySeconds(gpu, MemoryBytes(graph), 0.85);
}

double ShareOfGemm(const DnnOperation& op, const Convolution& roles) {
  if (IsGemmOfPoints(op, roles)) return 1;
  return op.kind == kConvolutionBackwardFilter ? kFilterGradientShare : kConvolutionShare;
}

// Gradients, and GEMMs of groups: a share of the GEMM of their shape.
double ShareSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph, const DnnOperation& op,
                    const Convolution& roles) {
  const double per_pixel = roles.window() * roles.channels();
  const double total = roles.pixels() * roles.filters() * per_pixel;
  GemmModel::Shape shape;
  shape.batch = roles.groups();
  if (op.kind == kConvolutionBackwardFilter) {
    shape.m = roles.filters() / roles.groups();
    shape.n = per_pixel;
    shape.k = roles.pixels();
  } else if (op.kind == kConvolutionForward) {
    shape.m = roles.pixels();
    shape.n = roles.filters() / roles.groups();
    shape.k = per_pixel;
  } else {
    shape.m = Elements(*roles.image) / Dim(*roles.image, 1);
    shape.n = roles.channels();
    shape.k = std::max(1.0, total / roles.groups() / (shape.m * shape.n));
  }
  shape.type = roles.type();
  const DnnTensor& written = *Output(graph, op);
  const double read = Elements(*roles.image) + Elements(*roles.filter) + Elements(*roles.response) -
                      Elements(written);
  shape.input_bytes = roles.element() * read / (roles.groups() * (shape.m + shape.n) * shape.k);
  shape.output_bytes = roles.element();
  return GemmModel::Get().Predict(gpu, shape).seconds / ShareOfGemm(op, roles);
}

}  // namespace

std::optional<Prediction> PredictConvolution(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                                             const DnnOperation& op) {
  const auto roles = Roles(graph, op);
  if (!roles || !(Elements(*roles->filter) > 0) || !(Elements(*roles->response) > 0)) {
    return std::nullopt;
  }
  constexpr double kOutsideSeconds = 6e-6;
  Prediction prediction;
  prediction.relative_error = 0.3;
  double gemm = 0;
  const bool points = IsGemmOfPoints(op, *roles);
  if (IsDepthwise(*roles)) {
    prediction.seconds = std::max(DepthwiseSeconds(gpu, op, *roles), OnceSeconds(gpu, graph));
    return prediction;
  }
  if (op.kind == kConvolutionForward && roles->groups() == 1 && !points) {
    const Tiles tiles = ForwardTiles(gpu, *roles);
    gemm = kOutsideSeconds + tiles.flops / (tiles.share * Rate(gpu, roles->type()));
  } else if (const auto native = NativeGradientSeconds(gpu, op, *roles); native && !points) {
    gemm = kOutsideSeconds + *native;
  } else {
    gemm = ShareSeconds(gpu, graph, op, *roles);
  }
  prediction.seconds = std::max(gemm, OnceSeconds(gpu, graph));
  if (!points) prediction.seconds += LayoutSeconds(gpu, *roles);
  return prediction;
}

double ConvolutionFlops(const DnnGraph& graph, const DnnOperation& op) {
  const auto roles = Roles(graph, op);
  if (!roles) return 0;
  return 2 * Elements(*roles->response) * roles->window() * roles->channels();
}

}  // namespace eidolon::timing::model
