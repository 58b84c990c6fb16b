// cuDNN has many kernels for one operation, each with padding and a rate of its own. KernelSeconds
// therefore follows the library's choice: by type, groups, size of the window, layout of the
// tensors and compute capability. Its order is part of the model, since later branches assume what
// earlier ones have taken. Changes of layout are kernels of their own around it, and nothing is
// faster than reading every tensor once. Conditions and shares come from published and measured
// kernels, which the comments beside them name.
#include "services/timing/model/convolution_model.h"

#include <algorithm>
#include <cmath>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/contract/machine/machine.h"
#include "services/timing/model/convolution_groups.h"
#include "services/timing/model/convolution_layout.h"
#include "services/timing/model/convolution_shape.h"
#include "services/timing/model/convolution_tiles.h"
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

double PaddedChannels(double channels, double element) {
  return RoundUp(channels, kVectorBytes / element);
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

// The forward GEMM by tiles of 128 by 128 on GPUs before 9.0. Unaligned channels go to a kernel
// with tiles of 256 by 64 (published).
double OlderForwardSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  constexpr double kNarrowTile = 64, kWideTile = 128, kOutsideSeconds = 6e-6;
  const double element = roles.element();
  const bool aligned = roles.channels() == PaddedChannels(roles.channels(), element);
  const bool small = !aligned || (element <= 2 && roles.filters() <= kNarrowTile);
  const double tile_places = aligned ? 128 : 256;
  const double rows = std::ceil(roles.places() / tile_places);
  const double n = RoundUp(roles.filters(), small ? kNarrowTile : kWideTile);
  const double busy = rows * n / kNarrowTile / gpu.multiprocessors;
  const double flops = 2 * rows * tile_places * n * roles.window() *
                       RoundUp(roles.channels(), kPieceBytes / element);
  return kOutsideSeconds +
         flops / (kConvolutionShare * std::min(1.0, busy) * Rate(gpu, roles.type()));
}

// Reads overlapping windows once, not once a window.
double OnceSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph) {
  return gpu.kernel_floor.Seconds() + MemorySeconds(gpu, MemoryBytes(graph), 0.85);
}

// One place of the image for one of the response, of 16 bits: cuDNN multiplies them as they lie
// (published traces: a CUTLASS GEMM, no change of layout; on H200 and H100 cuBLAS's kernels,
// e2e/measured).
//
// With channels first the places of a picture are a row. Rows that do not begin where 16 bytes do
// take CUTLASS's kernels of older architectures, as GEMMs do (gemm_model.h), and the filter's
// gradient of odd ones is not a GEMM at all.
double RowOf(const Convolution& roles) { return roles.places() / Dim(*roles.response, 0); }

bool IsGemmOfPoints(const Convolution& roles) {
  if (!roles.is_of_points() || roles.element() > 2) return false;
  return !(roles.operation->kind == kConvolutionBackwardFilter && roles.is_channels_first() &&
           std::fmod(RowOf(roles), 2) != 0);
}

double UnalignedSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  constexpr double kAligned = 8, kTile = 64;
  const double row = RowOf(roles);
  if (!roles.is_channels_first() || std::fmod(row, kAligned) == 0) return 0;
  const double per_clock = std::fmod(row, 2) == 0 ? kEvenRowsFlopsPerClock : kOddRowsFlopsPerClock;
  const double multiplications = Dim(*roles.response, 0) * RoundUp(row, kTile) *
                                 RoundUp(roles.filters(), kTile) * roles.channels();
  return 2 * multiplications /
         (per_clock * gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz));
}

double ShareOfGemm(const DnnOperation& op, const Convolution& roles) {
  if (IsGemmOfPoints(roles)) return 1;
  return op.kind == kConvolutionBackwardFilter ? kFilterGradientShare : kConvolutionShare;
}

// Gradients, and GEMMs of groups: a share of the GEMM of their shape.
double ShareSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph, const DnnOperation& op,
                    const Convolution& roles) {
  const double per_pixel = roles.window() * roles.channels();
  const double total = roles.places() * roles.filters() * per_pixel;
  GemmModel::Shape shape;
  shape.batch = roles.groups();
  if (op.kind == kConvolutionBackwardFilter) {
    shape.m = roles.filters() / roles.groups();
    shape.n = per_pixel;
    shape.k = roles.places();
  } else if (op.kind == kConvolutionForward) {
    shape.m = roles.places();
    shape.n = roles.filters() / roles.groups();
    shape.k = per_pixel;
  } else {
    shape.m = roles.image_places();
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

// The kernels that multiply, without changes of layout.
double KernelSeconds(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                     const Convolution& roles) {
  const DnnOperation& op = *roles.operation;
  if (roles.type() == "fp32" && roles.groups() == 1) return PlainSeconds(gpu, roles);
  if (IsGemmOfPoints(roles)) {
    return std::max(ShareSeconds(gpu, graph, op, roles), UnalignedSeconds(gpu, roles));
  }
  if (IsOfPaddedGroups(gpu, roles)) return PaddedGroupsSeconds(gpu, roles);
  if (roles.groups() > 1 || roles.type() == "fp64") return ShareSeconds(gpu, graph, op, roles);
  if (gpu.compute_major >= machine::kGroupMatrixMajor && roles.is_of_points() &&
      roles.type() == "tf32") {
    return op.kind == kConvolutionForward ? PointsSeconds(gpu, roles)
                                          : ShareSeconds(gpu, graph, op, roles);
  }
  if (gpu.compute_major >= machine::kGroupMatrixMajor) {
    return IsPlainAnyway(roles) ? PlainSeconds(gpu, roles) : TensorCoreSeconds(gpu, roles);
  }
  if (op.kind == kConvolutionForward) return OlderForwardSeconds(gpu, roles);
  return ShareSeconds(gpu, graph, op, roles);
}

bool ChangesLayouts(const gpu_model::GpuModel& gpu, const Convolution& roles) {
  const bool points = roles.is_of_points() && (roles.type() == "tf32" || IsGemmOfPoints(roles));
  if (points || roles.type() == "fp32" || roles.type() == "fp64") return false;
  return !(gpu.compute_major >= machine::kGroupMatrixMajor && IsPlainAnyway(roles));
}

}  // namespace

std::optional<Prediction> PredictConvolution(const gpu_model::GpuModel& gpu, const DnnGraph& graph,
                                             const DnnOperation& op) {
  const auto roles = RolesOf(graph, op);
  if (!roles || !(Elements(*roles->filter) > 0) || !(Elements(*roles->response) > 0)) {
    return std::nullopt;
  }
  Prediction prediction;
  prediction.relative_error = 0.3;
  const double once = OnceSeconds(gpu, graph);
  if (roles->is_depthwise()) {
    // Few blocks of the filter's gradient read everything (wgrad2d_c1_k1_nhwc on H100).
    constexpr double kFilterEfficiency = 0.25;
    const bool filter = op.kind == kConvolutionBackwardFilter;
    const double read = filter ? MemorySeconds(gpu, MemoryBytes(graph), kFilterEfficiency) : 0;
    prediction.seconds = std::max({DepthwiseSeconds(gpu, op, *roles), once, read});
    return prediction;
  }
  prediction.seconds = std::max(KernelSeconds(gpu, graph, *roles), once);
  if (ChangesLayouts(gpu, *roles)) prediction.seconds += LayoutSeconds(gpu, *roles);
  return prediction;
}

double ConvolutionFlops(const DnnGraph& graph, const DnnOperation& op) {
  const auto roles = RolesOf(graph, op);
  if (!roles) return 0;
  return 2 * Elements(*roles->response) * roles->window() * roles->channels();
}

}  // namespace eidolon::timing::model
