// Kernels that look at a window of an image for each place: pooling and depthwise convolutions.
#include <cmath>

#include "services/timing/kernel/accessor.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

Demand Images(Family family, double bytes, double elements) {
  Demand demand;
  demand.family = family;
  demand.evidence = Evidence::kParameters;
  demand.bytes = bytes;
  demand.flops = elements * 10;
  return demand;
}

}  // namespace

// max_pool_forward_nhwc(in, N, C, H, W, pooled H, pooled W, ...) and max_pool_backward_nhwc(grad,
// mask, N, C, H, W, pooled H, pooled W, ...): the image once, the pooled image and its indices
// once.
std::optional<Demand> PoolChannelsLast(const Launch& l) {
  const std::size_t first = l.name.Has("backward") ? 2 : 1;
  double sizes[6];
  for (std::size_t i = 0; i < 6; ++i) {
    const auto size = l.Size(first + i);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  const double element = ElementBytes(l.Template(0)).value_or(4);
  const double planes = sizes[0] * sizes[1];
  const double pooled = sizes[4] * sizes[5];
  // An H200 takes 1.8 ps a place of a window of nine forward, 4.0 backward (e2e/measured).
  constexpr double kPlaces = 9, kForwardOperations = 30, kBackwardOperations = 66;
  Demand demand =
      Images(Family::kPooling, planes * (sizes[2] * sizes[3] * element + pooled * (element + 8)),
             planes * pooled * kPlaces);
  demand.address_operations =
      planes * pooled * kPlaces * (first == 2 ? kBackwardOperations : kForwardOperations);
  return demand;
}

namespace {

// Integer operations for a place of a window: a bound on both sides and an address. Published on
// H100 (e2e/validation/operators.csv): max pooling of 4 by 4 in 10.7 ms, depthwise convolution of 3
// by 3 in 2.54, 0.80 and 0.94 T places/s.
constexpr double kPoolOperations = 21;
constexpr double kDepthwiseOperations = 17.7;

Demand Windows(Family family, double bytes, double places, double operations) {
  Demand demand = Images(family, bytes, places / 10);
  demand.address_operations = places * operations;
  return demand;
}

}  // namespace

// max_pool_forward_nchw(nthreads, in, C, H, W, pooled H, pooled W, kernel H, kernel W, ..., out,
// indices): a thread an output.
std::optional<Demand> PoolChannelsFirst(const Launch& l) {
  const auto outputs = l.Size(0);
  double sizes[6];  // H, W, pooled H, pooled W, kernel H, kernel W.
  for (std::size_t i = 0; i < 6; ++i) {
    const auto size = l.Size(3 + i);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  if (!outputs) return std::nullopt;
  const double element = l.ElementBytesOf(1, 4);
  const double written = element + 8;
  const double planes = *outputs / (sizes[2] * sizes[3]);
  return Windows(Family::kPooling, planes * sizes[0] * sizes[1] * element + *outputs * written,
                 *outputs * sizes[4] * sizes[5], kPoolOperations);
}

// max_pool_backward_nchw<T, acc, index>(grad, mask, members, channels, H, W, pooled H, pooled W,
// kernel H, kernel W, stride H, stride W, ..., out): a thread a place of the image, which looks
// into the mask of each window that it may lie in, one after the other. Instructions and clocks are
// counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon kernel explain`: windows of 2 by 2
// and 3 by 3, strides of 1 and 2).
std::optional<Demand> PoolBackwardChannelsFirst(const Launch& l) {
  double sizes[10];  // Members, channels, H, W, pooled H, pooled W, kernel H, W, stride H, W.
  for (std::size_t i = 0; i < 10; ++i) {
    const auto size = l.Size(2 + i);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  constexpr double kInstructions = 238, kInstructionsOfWindow = 12.5;
  constexpr double kClocks = 1200, kClocksOfWindow = 110;
  const double element = l.ElementBytesOf(0, 4);
  const double planes = sizes[0] * sizes[1];
  const double places = planes * sizes[2] * sizes[3];
  const double windows = std::ceil(sizes[6] / sizes[8]) * std::ceil(sizes[7] / sizes[9]);
  Demand demand = Images(Family::kPooling,
                         places * element + planes * sizes[4] * sizes[5] * (element + 8), places);
  demand.elements = places;
  demand.instructions = places * (kInstructions + kInstructionsOfWindow * windows);
  demand.dependent_loads = std::ceil(sizes[6] / sizes[8]);  // Lines of a row hold all its windows.
  demand.dependent_bytes = demand.bytes;
  demand.dependent_clocks = kClocks + kClocksOfWindow * windows;
  return demand;
}

namespace {

// Volumes: x and y of the grid's threads are an output's row, z counts rows' planes, and a large
// pooling takes several launches. `window`: places that an output looks at; `inputs`: elements of
// the input for an output.
std::optional<Demand> Volumes(const Launch& l, double width, double height, double element,
                              double index, double window, double inputs) {
  const double outputs = width * height * static_cast<double>(l.launch.grid.z);
  if (outputs <= 0 || window <= 0) return std::nullopt;
  return Windows(Family::kPooling, outputs * (inputs * element + element + index), outputs * window,
                 kPoolOperations);
}

}  // namespace

// max_pool3d_with_indices_single_out_frame(in, out, indices, features, T, H, W, pooled batch, T, H,
// W, kernel T, H, W, ...), in channels first or last.
std::optional<Demand> MaxPoolVolumes(const Launch& l) {
  double sizes[10];  // T, H, W, pooled batch, T, H, W, kernel T, H, W.
  for (std::size_t i = 0; i < 10; ++i) {
    const auto size = l.Size(4 + i);
    // In channels first the batch is not read.
    if (!size && i != 3) return std::nullopt;
    sizes[i] = size.value_or(0);
  }
  const double inputs = sizes[0] * sizes[1] * sizes[2] / (sizes[4] * sizes[5] * sizes[6]);
  constexpr double kIndex = 8;
  return Volumes(l, sizes[6], sizes[5], ElementBytes(l.Template(0)).value_or(4), kIndex,
                 sizes[7] * sizes[8] * sizes[9], inputs);
}

// avg_pool3d_cuda_update_output<T, acc>(in, out, kernel T, H, W, stride T, H, W, ...), and for
// windows of up to seven <kernel W, T, acc>(in, out, kernel T, H, stride T, H, W, ...).
std::optional<Demand> AveragePoolVolumes(const Launch& l) {
  const bool known_width =
      !l.Template(0).empty() && l.Template(0).front() >= '0' && l.Template(0).front() <= '9';
  const double width = known_width ? l.Template(0).front() - '0' : l.Size(4).value_or(0);
  const auto out = AccessorOf(l, 1);
  const double depth = l.Size(2).value_or(0);
  const double height = l.Size(3).value_or(0);
  if (!out || out->inner <= 0 || out->plane <= 0) return std::nullopt;
  const std::size_t first = known_width ? 4 : 5;
  double strides = 1;
  for (std::size_t i = 0; i < 3; ++i) strides *= l.Size(first + i).value_or(1);
  return Volumes(l, out->inner, out->plane / out->inner,
                 ElementBytes(l.Template(known_width ? 1 : 0)).value_or(4), 0,
                 depth * height * width, strides);
}

// conv_depthwise2d_forward_kernel<window, T, index>(in, out, weight, bias, bool, outputs, C,
// multiplier, W, H, output W, output H, kernel W, kernel H, ...); a window of 0 is any.
std::optional<Demand> DepthwiseForward(const Launch& l) {
  constexpr std::size_t kOutputs = 5, kWidth = 8, kKernel = 12;
  const auto outputs = l.Size(kOutputs);
  double sizes[4];  // W, H, output W, output H.
  for (std::size_t i = 0; i < 4; ++i) {
    const auto size = l.Size(kWidth + i);
    if (!size) return std::nullopt;
    sizes[i] = *size;
  }
  const std::string_view window = l.Template(0);
  double places = window == "5" ? 25 : window == "3" ? 9 : window == "1" ? 1 : 0;
  if (places == 0) places = l.Size(kKernel).value_or(0) * l.Size(kKernel + 1).value_or(0);
  if (!outputs || places == 0) return std::nullopt;
  const double element = ElementBytes(l.Template(1)).value_or(4);
  const double inputs = *outputs / (sizes[2] * sizes[3]) * sizes[0] * sizes[1];
  return Windows(Family::kConvolution, (inputs + *outputs) * element, *outputs * places,
                 kDepthwiseOperations);
}

}  // namespace eidolon::timing::kernel
