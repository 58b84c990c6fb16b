// An implicit GEMM is cut into tiles, and a GPU works through whole waves of them. A kernel's time
// is the waves, times the time of one tile at a share of the multiprocessor's rate, plus what
// starting and ending cost. The library is taken to choose the tile that is through first, as
// Seconds does. Beyond a GEMM, sizes are padded: each place of a window takes whole pieces of
// channels. Rates are shares of the sustained rate, so that other GPUs of the architecture follow
// from their model files.
#include "services/timing/model/convolution_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using gpu_model::GpuModel;
using enum cudnn_numbers::Operation;

// A convolution as a GEMM: rows by columns, each a sum over `summed` numbers.
struct GemmSizes {
  double rows = 0;
  double columns = 0;
  double summed = 0;
};

struct Tile {
  double rows = 0;
  double columns = 0;
  double share = 0;  // Of the sustained rate of a multiprocessor, inside a tile.
};

// Cost of a kernel outside its sums: once, and for each tile, in seconds of one of 128 by 128.
struct Overhead {
  double kernel = 0;
  double tile = 0;
};

constexpr double kWholeTile = 128 * 128;

// The tile that is through first. Nobody else's tiles help a multiprocessor whose own are done, but
// where `shared` is set, several share a sum that only few tiles have.
double Seconds(const GpuModel& gpu, const Convolution& roles, const GemmSizes& gemm,
               std::span<const Tile> tiles, const Overhead& overhead, bool shared = false) {
  const double sms = gpu.multiprocessors;
  const double rate = Rate(gpu, roles.type()) / sms;
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double size = tile.rows * tile.columns;
    const double count = std::ceil(gemm.rows / tile.rows) * std::ceil(gemm.columns / tile.columns);
    const double waves = shared && count <= sms / 2 ? count / sms : std::ceil(count / sms);
    const double each =
        overhead.tile * size / kWholeTile + 2 * size * gemm.summed / (rate * tile.share);
    least = std::min(least, std::max(waves * each, shared ? overhead.tile : 0.0));
  }
  return overhead.kernel + least;
}

// Constants of this file follow from single kernels of every second layer of
// e2e/measured/h100/convolutions.jsonl.gz, whose names say their tiles; the other layers are tests
// (docs/reference/generated/measured_h100.md).

// Kernels of sm_90 (WGMMA), which work through tiles of 128 by 128 and more at the sustained rate
// and are bound by shared memory in smaller ones.
double Sm90Seconds(const GpuModel& gpu, const Convolution& roles, const GemmSizes& gemm,
                   double share, bool shared) {
  const bool narrow = roles.element() <= 2;
  const double whole = 0.97 * share;
  const double half = (narrow ? 0.57 : 0.48) * share;
  const double quarter = (narrow ? 0.48 : 0.42) * share;
  const auto tiles = std::to_array<Tile>({{256, 128, whole},
                                          {128, 256, whole},
                                          {128, 128, whole},
                                          {256, 64, half},
                                          {128, 64, half},
                                          {64, 128, half},
                                          {64, 64, quarter}});
  constexpr Overhead kOverhead{3.5e-6, 1.0e-6};
  return Seconds(gpu, roles, gemm, tiles, kOverhead, shared);
}

// Kernels of sm_80 (HMMA), one tile at a time on a multiprocessor, whose start and end nothing
// hides.
double Sm80Seconds(const GpuModel& gpu, const Convolution& roles, const GemmSizes& gemm) {
  const bool narrow = roles.element() <= 2;
  const auto few = std::to_array<Tile>({{64, 64, 0.37}, {256, 64, 0.5}});
  const auto many = std::to_array<Tile>({{128, 128, narrow ? 0.61 : 0.45}});
  constexpr Overhead kOverhead{3.0e-6, 2.5e-6};
  constexpr double kFewColumns = 64;
  return gemm.columns <= kFewColumns ? Seconds(gpu, roles, gemm, few, kOverhead)
                                     : Seconds(gpu, roles, gemm, many, kOverhead);
}

// Returns the time of 16 bits with few filters: tiles of 256 by 32, of which several share a
// multiprocessor.
double FewFiltersSeconds(const GpuModel& gpu, const Convolution& roles, const GemmSizes& gemm) {
  constexpr double kRows = 256, kColumns = 32, kShare = 0.26;
  constexpr double kKernelSeconds = 3.0e-6, kTileSeconds = 2.5e-6;
  const double rate = Rate(gpu, roles.type()) / gpu.multiprocessors;
  const double waves = std::max(1.0, std::ceil(gemm.rows / kRows) / gpu.multiprocessors);
  return kKernelSeconds +
         waves * (kTileSeconds + 2 * kRows * kColumns * gemm.summed / (rate * kShare));
}

// Windows that cuDNN's kernels of sm_90 do not take: strides of patches, large ones (27 places go
// to them, 49 do not), and those whose places lie far apart (4 go to them, 12 do not: DeepLab's on
// H100, e2e/measured/h100/model_traces.jsonl.gz).
constexpr double kPatchStride = 8;
constexpr double kLargeWindow = 36;
constexpr double kFarApart = 8;

// Pictures of three or four colours: their places of a window lie one after the other, in vectors.
constexpr double kColours = 4;

bool IsFarApart(const Convolution& roles) {
  return roles.window() > 1 && roles.dilation_max() >= kFarApart;
}

bool IsOfPatches(const Convolution& roles) { return roles.stride_max() >= kPatchStride; }

double Pieces(double channels, double element) { return RoundUp(channels, kPieceBytes / element); }

double ForwardSeconds(const GpuModel& gpu, const Convolution& roles) {
  constexpr double kFewFilters = 16;
  const GemmSizes gemm{roles.places(), roles.filters(),
                       roles.window() * Pieces(roles.channels(), roles.element())};
  if (IsOfPatches(roles) || IsFarApart(roles) || roles.window() > kLargeWindow) {
    return Sm80Seconds(gpu, roles, gemm);
  }
  if (roles.element() <= 2 && roles.filters() <= kFewFilters) {
    return FewFiltersSeconds(gpu, roles, gemm);
  }
  return Sm90Seconds(gpu, roles, gemm, 1, false);
}

// With strides, every place of the image has a part of the window only.
double ImageSeconds(const GpuModel& gpu, const Convolution& roles) {
  const double filters = Pieces(roles.filters(), roles.element());
  const double parts = roles.stride_places();
  if (IsOfPatches(roles)) {
    constexpr Overhead kOverhead{3.0e-6, 7.5e-6};  // Divisions for every place.
    const auto tiles = std::to_array<Tile>({{128, 64, 0.48}});
    const GemmSizes gemm{roles.image_places(), roles.channels(),
                         filters * std::max(1.0, roles.window() / parts)};
    return Seconds(gpu, roles, gemm, tiles, kOverhead);
  }
  constexpr double kStridedShare = 0.7;
  const GemmSizes gemm{roles.image_places(), roles.channels(), roles.window() * filters / parts};
  if (IsFarApart(roles)) return Sm80Seconds(gpu, roles, gemm);
  return Sm90Seconds(gpu, roles, gemm, parts > 1 ? kStridedShare : 1, true);
}

// The filter's gradient sums over all places, which blocks share out: no tile is short, but those
// of few channels or filters are filled with nothing.
double FilterSeconds(const GpuModel& gpu, const Convolution& roles) {
  constexpr double kTile = 64, kFewChannels = 16, kOutsideSeconds = 8.0e-6;
  const double channels = roles.channels(), filters = roles.filters();
  if (IsOfPatches(roles) || IsFarApart(roles)) {
    return Sm80Seconds(gpu, roles,
                       {filters, channels * roles.window(), RoundUp(roles.places(), kTile)});
  }
  const bool narrow = roles.element() <= 2;
  const bool half = std::min(channels, filters) <= kTile;
  // 0.85: 87.3 us of ResNet-50's windows of 128 channels on H200, without what prepares and adds
  // up.
  double share = narrow ? (half ? 0.52 : 0.85) : (half ? 0.3 : 0.46);
  if (channels <= kFewChannels) share = narrow ? 0.08 : 0.2;
  if (roles.window() > kLargeWindow) share = half ? 0.25 : 0.54;
  double columns = RoundUp(channels, kTile) * roles.window();
  if (roles.window() > kLargeWindow && channels <= kColours) {
    columns = RoundUp(RoundUp(channels, kVectorBytes / roles.element()) * roles.window(), kTile);
  }
  const double multiplications = roles.places() * RoundUp(filters, kTile) * columns;
  return kOutsideSeconds + 2 * multiplications / (share * Rate(gpu, roles.type()));
}

// The first layer of pictures of three or four colours, with channels last: kernels of its own,
// forward and for the filter (image_first_layer, ResNet-50's on H200 and H100).
bool IsFirstLayer(const Convolution& roles) {
  constexpr double kFilters = 64;
  return roles.element() <= 2 && !roles.is_channels_first() && roles.channels() <= kColours &&
         roles.filters() <= kFilters && roles.window() > kLargeWindow && !IsOfPatches(roles) &&
         roles.operation->kind != kConvolutionBackwardData;
}

double FirstLayerSeconds(const GpuModel& gpu, const Convolution& roles) {
  constexpr double kPadded = 8, kShare = 0.5, kTile = 64, kOutsideSeconds = 3.5e-6;
  const double multiplications =
      roles.places() * RoundUp(roles.filters(), kTile) * kPadded * roles.window();
  return kOutsideSeconds + 2 * multiplications / (kShare * Rate(gpu, roles.type()));
}

}  // namespace

double PointsSeconds(const GpuModel& gpu, const Convolution& roles) {
  return Sm80Seconds(gpu, roles, {roles.places(), roles.filters(), roles.channels()});
}

double GroupsSeconds(const GpuModel& gpu, const Convolution& roles, double channels,
                     double filters) {
  constexpr double kFilterShare = 0.85, kOutsideSeconds = 8.0e-6;  // As FilterSeconds().
  const double groups = roles.groups();
  switch (roles.operation->kind) {
    case kConvolutionForward:
      return Sm90Seconds(gpu, roles, {roles.places() * groups, filters, roles.window() * channels},
                         1, false);
    case kConvolutionBackwardData: {
      const double parts = roles.stride_places();
      const GemmSizes gemm{roles.image_places() * groups, channels,
                           roles.window() * filters / parts};
      return parts > 1 ? Sm80Seconds(gpu, roles, gemm) : Sm90Seconds(gpu, roles, gemm, 1, true);
    }
    default:
      return kOutsideSeconds + 2 * roles.places() * groups * channels * filters * roles.window() /
                                   (kFilterShare * Rate(gpu, roles.type()));
  }
}

double TensorCoreSeconds(const GpuModel& gpu, const Convolution& roles) {
  if (IsFirstLayer(roles)) return FirstLayerSeconds(gpu, roles);
  switch (roles.operation->kind) {
    case kConvolutionForward:
      return ForwardSeconds(gpu, roles);
    case kConvolutionBackwardData:
      return ImageSeconds(gpu, roles);
    default:
      return FilterSeconds(gpu, roles);
  }
}

double PlainSeconds(const GpuModel& gpu, const Convolution& roles) {
  constexpr double kTile = 32, kOutsideSeconds = 3.0e-6;
  constexpr double kPoints = 0.55, kWindows = 0.3, kImage = 0.48, kFilter = 0.36;
  GemmSizes gemm{roles.places(), roles.filters(), roles.window() * roles.channels()};
  double share = roles.is_of_points() ? kPoints : kWindows;
  if (roles.operation->kind == kConvolutionBackwardData) {
    gemm = {roles.image_places(), roles.channels(),
            roles.filters() * std::max(1.0, roles.window() / roles.stride_places())};
    share = kImage;
  } else if (roles.operation->kind == kConvolutionBackwardFilter) {
    gemm = {roles.filters(), roles.channels() * roles.window(), roles.places()};
    share = kFilter;
  }
  const double multiplications =
      RoundUp(gemm.rows, kTile) * RoundUp(gemm.columns, kTile) * gemm.summed;
  // Of a tile, 8 numbers at a time: no multiprocessor is faster alone. Filters' gradients share out
  // their sums.
  constexpr double kDepth = 8, kDepthClocks = 0.12e-6 * 1.98e9;
  const bool shared = roles.operation->kind == kConvolutionBackwardFilter;
  const double alone =
      shared ? 0 : gemm.summed / kDepth * kDepthClocks / static_cast<double>(gpu.boost_clock_hz);
  return kOutsideSeconds + std::max(alone, 2 * multiplications / (share * Rate(gpu, "fp32")));
}

bool WritesChannelsFirst(const Convolution& roles) {
  return roles.type() == "tf32" && roles.operation->kind == kConvolutionForward &&
         roles.window() > kLargeWindow && !IsOfPatches(roles);
}

bool IsPlainAnyway(const Convolution& roles) {
  constexpr double kFewFilters = 48, kThin = 32;
  const bool flat = roles.filter->rank == 4;
  const bool strided_points = roles.window() == 1 && roles.stride_max() > 1 &&
                              std::min(roles.channels(), roles.filters()) <= kThin;
  const bool colours = roles.channels() <= kColours && roles.filters() <= kFewFilters;
  return roles.type() == "tf32" && roles.is_channels_first() && flat && (strided_points || colours);
}

}  // namespace eidolon::timing::model
