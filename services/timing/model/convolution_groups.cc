#include "services/timing/model/convolution_groups.h"

#include <algorithm>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/contract/machine/machine.h"
#include "services/timing/model/convolution_tiles.h"
#include "services/timing/model/dnn_tensors.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using gpu_model::GpuModel;
using kernel::DnnTensor;
using enum cudnn_numbers::Operation;

// Channels of a group in the padded layout: 112 become 128.
constexpr double kGroupTile = 64;
constexpr double kLeastChannels = 32;

// Constants follow from the first stage of RegNetY-160 (two groups of 112 channels) on an H100; its
// other stages, of 4, 11 and 27 groups, are tests (e2e/measured/h100/model_traces.jsonl.gz).
//
// tensorTransformGeneric divides for the coordinates of every element: bytes read and written in a
// clock of a multiprocessor, 546 and 470 GB/s.
constexpr double kTransformBytesPerClock = 1.95;

// A memset of the padded tensor, and the elements into it; or out of it.
double TransformSeconds(const GpuModel& gpu, const DnnTensor& tensor, double element,
                        double padding, bool is_result) {
  constexpr double kKernelSeconds = 3e-6;
  const double bytes = element * Elements(tensor);
  const double rate =
      kTransformBytesPerClock * gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz);
  const double memset = is_result ? 0 : MemorySeconds(gpu, bytes * padding, 1);
  return kKernelSeconds + memset + bytes * (1 + padding) / rate;
}

// A copy of each group's channels to a tensor of their own, or back.
double SliceSeconds(const GpuModel& gpu, const DnnTensor& tensor, double element) {
  return MemorySeconds(gpu, 2 * element * Elements(tensor), 1);
}

}  // namespace

bool IsOfPaddedGroups(const GpuModel& gpu, const Convolution& roles) {
  return gpu.compute_major >= machine::kGroupMatrixMajor && roles.groups() > 1 &&
         !roles.is_depthwise() && roles.element() <= 2 &&
         std::min(roles.channels(), roles.filters() / roles.groups()) >= kLeastChannels;
}

// The gradient of the filter is as dear as this where cuDNN pads; of 4 and 11 groups it slices
// instead and runs a kernel of few blocks for each group, which takes up to three times as long.
double PaddedGroupsSeconds(const GpuModel& gpu, const Convolution& roles) {
  const double filters = roles.filters() / roles.groups();
  const double padded_channels = RoundUp(roles.channels(), kGroupTile);
  const double padded_filters = RoundUp(filters, kGroupTile);
  const double of_image = padded_channels / roles.channels();
  const double of_response = padded_filters / filters;
  const auto kind = roles.operation->kind;
  const double element = roles.element();
  const double gemm = GroupsSeconds(gpu, roles, padded_channels, padded_filters);
  if (kind == kConvolutionBackwardData && roles.stride_max() > 1) {
    return gemm + SliceSeconds(gpu, *roles.response, element) +
           SliceSeconds(gpu, *roles.image, element);
  }
  if (of_image == 1 && of_response == 1) return gemm;
  return gemm +
         TransformSeconds(gpu, *roles.image, element, of_image, kind == kConvolutionBackwardData) +
         TransformSeconds(gpu, *roles.filter, element, of_image * of_response,
                          kind == kConvolutionBackwardFilter) +
         TransformSeconds(gpu, *roles.response, element, of_response, kind == kConvolutionForward);
}

}  // namespace eidolon::timing::model
