// Kernels with a thread for each place of a picture that is made smaller or larger: average pooling
// and interpolation. Divisions for the place's coordinates decide, not memory: instructions of a
// place follow from pictures of 2 x 320 x 128 x 128 in bf16 on an H100, doubled or halved
// (e2e/measured/h100/convolutions.jsonl.gz; the five other sizes, and float32, gave none).
#include <algorithm>
#include <cmath>

#include "services/contract/machine/machine.h"
#include "services/timing/kernel/accessor.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

Demand Places(Family family, double bytes, double places, double instructions) {
  Demand demand;
  demand.family = family;
  demand.evidence = Evidence::kParameters;
  demand.bytes = bytes;
  demand.elements = places;
  demand.instructions = places * instructions;
  return demand;
}

// Sizes of parameters in a row; false when one is not a positive integer.
template <std::size_t kCount>
bool Read(const Launch& l, std::size_t first, double (&sizes)[kCount]) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto size = l.Size(first + i);
    if (!size) return false;
    sizes[i] = *size;
  }
  return true;
}

bool IsChannelsLast(const Launch& l) { return l.name.Has("nhwc"); }

// With channels first, neighbours of a row of the gradient, a lane each, are added to the same
// places of the image. `sizes`: height and width of the image and of the gradient.
void AddMeetings(const double (&sizes)[4], double read, double written, Demand& demand) {
  constexpr double kLanes = machine::kWarpLanes, kSums = 4, kWordBytes = 4;
  const double across = std::max(1.0, sizes[3] / sizes[1]);
  const double rows = std::clamp(kLanes / sizes[3], 1.0, std::max(1.0, sizes[2] / sizes[0]));
  demand.atomic_rounds = read / kLanes * kSums * std::min(kLanes, across * rows);
  demand.atomic_bytes = written * kWordBytes;
}

}  // namespace

// avg_pool2d_out_cuda_frame[_nhwc](outputs, in, C, H, W, pooled H, pooled W, kernel H, kernel W,
// ...): a thread an output.
std::optional<Demand> AveragePool(const Launch& l) {
  constexpr double kFirst = 330, kLast = 715, kPlace = 10;  // A window's place: by judgement.
  const auto outputs = l.Size(0);
  double sizes[6];  // H, W, pooled H, pooled W, kernel H, kernel W.
  if (!outputs || !Read(l, 3, sizes)) return std::nullopt;
  const double planes = *outputs / (sizes[2] * sizes[3]);
  const double bytes =
      (planes * sizes[0] * sizes[1] + *outputs) * ElementBytes(l.Template(0)).value_or(4);
  return Places(Family::kPooling, bytes, *outputs,
                (IsChannelsLast(l) ? kLast : kFirst) + kPlace * sizes[4] * sizes[5]);
}

// avg_pool2d_backward_out_cuda_frame[_nhwc](inputs, grad, C, H, W, pooled H, pooled W, ...): a
// thread a place of the image, of one window.
std::optional<Demand> AveragePoolBackward(const Launch& l) {
  constexpr double kInstructions = 528;
  const auto inputs = l.Size(0);
  double sizes[4];  // H, W, pooled H, pooled W.
  if (!inputs || !Read(l, 3, sizes)) return std::nullopt;
  const double pooled = *inputs / (sizes[0] * sizes[1]) * sizes[2] * sizes[3];
  return Places(Family::kPooling, (*inputs + pooled) * ElementBytes(l.Template(0)).value_or(4),
                *inputs, kInstructions);
}

// upsample_nearest2d_out_frame(in, out, planes, H, W, out H, out W, ...), and with channels last
// upsample_nearest2d_nhwc_out_frame(in, out, C, H, W, out H, out W, ..., outputs).
std::optional<Demand> Nearest(const Launch& l) {
  constexpr double kFirst = 62, kLast = 180;
  double sizes[5];  // Planes or channels, H, W, out H, out W.
  if (!Read(l, 2, sizes)) return std::nullopt;
  const bool last = IsChannelsLast(l);
  const auto outputs = last ? l.Size(9) : sizes[0] * sizes[3] * sizes[4];
  if (!outputs) return std::nullopt;
  const double inputs = *outputs / (sizes[3] * sizes[4]) * sizes[1] * sizes[2];
  return Places(Family::kResample, (inputs + *outputs) * ElementBytes(l.Template(0)).value_or(4),
                *outputs, last ? kLast : kFirst);
}

// upsample_nearest2d_backward_out_frame(grad, N, C, grad H, grad W, H, W, ...): a thread a place of
// a plane, for all pictures one after the other; with channels last
// upsample_nearest2d_backward_nhwc_out_frame(grad, out, grad H, grad W, H, W, C, ..., inputs).
std::optional<Demand> NearestBackward(const Launch& l) {
  constexpr double kFirst = 160, kLast = 385;
  const bool last = IsChannelsLast(l);
  double sizes[4];  // Grad H, grad W, H, W.
  if (!Read(l, last ? 2 : 3, sizes)) return std::nullopt;
  double inputs = 0;
  if (last) {
    inputs = l.Size(9).value_or(0);
  } else {
    inputs = l.Size(1).value_or(0) * l.Size(2).value_or(0) * sizes[2] * sizes[3];
  }
  if (inputs <= 0) return std::nullopt;
  const double outputs = inputs / (sizes[2] * sizes[3]) * sizes[0] * sizes[1];
  return Places(Family::kResample, (inputs + outputs) * ElementBytes(l.Template(0)).value_or(4),
                inputs, last ? kLast : kFirst);
}

// upsample_bilinear2d_out_frame(places, height, width, bool, in, out): a thread a place of the
// output, for all planes one after the other, each of which waits for its loads; with channels last
// upsample_bilinear2d_nhwc_out_frame(height, width, bool, C, H, W, out H, out W, in, out, outputs).
std::optional<Demand> Bilinear(const Launch& l) {
  constexpr double kLast = 265, kClocksOfPlane = 60;
  const double element = ElementBytes(l.Template(0)).value_or(4);
  if (IsChannelsLast(l)) {
    double sizes[4];  // H, W, out H, out W.
    const auto outputs = l.Size(10);
    if (!outputs || !Read(l, 4, sizes)) return std::nullopt;
    const double inputs = *outputs / (sizes[2] * sizes[3]) * sizes[0] * sizes[1];
    return Places(Family::kResample, (inputs + *outputs) * element, *outputs, kLast);
  }
  const auto places = l.Size(0);
  const auto in = AccessorOf(l, 4);  // Of the output the kernel does not read all sizes.
  if (!places || !in || in->elements <= 0) return std::nullopt;
  const double planes = in->elements / in->plane;
  Demand demand;
  demand.family = Family::kResample;
  demand.evidence = Evidence::kParameters;
  demand.bytes = (in->elements + planes * *places) * element;
  demand.dependent_loads = planes;
  demand.dependent_bytes = demand.bytes;
  demand.dependent_clocks = demand.dependent_loads * kClocksOfPlane;
  return demand;
}

// upsample_bilinear2d_backward_out_frame(planes, H, W, grad H, grad W, ...), and with channels last
// upsample_bilinear2d_backward_nhwc_out_frame(H, W, grad H, grad W, ..., outputs, inputs): a thread
// adds a place of the gradient to four of the image's.
std::optional<Demand> BilinearBackward(const Launch& l) {
  // Atomic sums: two of 16 bits take a word by compare-and-swap.
  constexpr double kFirst = 272, kFirstNarrow = 605, kLast = 250, kLastNarrow = 355;
  const bool last = IsChannelsLast(l);
  const double element = ElementBytes(l.Template(0)).value_or(4);
  double sizes[4];  // H, W, grad H, grad W.
  if (!Read(l, last ? 0 : 1, sizes)) return std::nullopt;
  const auto outputs = last ? l.Size(10) : l.Size(0);
  if (!outputs) return std::nullopt;
  const double read = last ? *outputs : *outputs * sizes[2] * sizes[3];
  const double written = read / (sizes[2] * sizes[3]) * sizes[0] * sizes[1];
  const bool narrow = element < 4;
  Demand demand = Places(Family::kResample, (read + 2 * written) * element, read,
                         last ? (narrow ? kLastNarrow : kLast) : (narrow ? kFirstNarrow : kFirst));
  if (!last) AddMeetings(sizes, read, written, demand);
  return demand;
}

}  // namespace eidolon::timing::kernel
