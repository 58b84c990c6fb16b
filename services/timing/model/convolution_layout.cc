#include "services/timing/model/convolution_layout.h"

#include <algorithm>
#include <cmath>

#include "services/timing/kernel/element_type.h"
#include "services/timing/model/convolution_tiles.h"
#include "services/timing/model/dnn_tensors.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using gpu_model::GpuModel;
using kernel::DnnTensor;

// nchwToNhwcKernel and nhwcToNchwKernel: a block for 32 channels by 32 places of a picture, however
// few of either there are. Clocks of a multiprocessor for a block, and what a full one adds; fitted
// to the kernels of every second layer of e2e/measured/h100/convolutions.jsonl.gz (211 of them: 11
// % off, the 219 of the others 13 %).
double RewriteSeconds(const GpuModel& gpu, const DnnTensor& tensor) {
  constexpr double kSquare = 32;
  constexpr double kNarrowBlock = 372, kNarrowFull = 63, kWideBlock = 305, kWideFull = 358;
  constexpr double kKernelSeconds = 1.55e-6;
  const double element = kernel::CudaTypeBytes(tensor.type);
  const double rows = Dim(tensor, 0), channels = Dim(tensor, 1);
  const double places = Elements(tensor) / (rows * channels);
  const double blocks = rows * std::ceil(channels / kSquare) * std::ceil(places / kSquare);
  const double full = Elements(tensor) / (kSquare * kSquare);
  const double clocks = element <= 2 ? kNarrowBlock * blocks + kNarrowFull * full
                                     : kWideBlock * blocks + kWideFull * full;
  return kKernelSeconds +
         std::max(clocks / (gpu.multiprocessors * static_cast<double>(gpu.boost_clock_hz)),
                  MemorySeconds(gpu, 2 * element * Elements(tensor), 1));
}

// nhwcAddPaddingKernel and tensorTransformGeneric, and the memset before them: the same data.
double PadSeconds(const GpuModel& gpu, const DnnTensor& tensor, double padded) {
  constexpr double kKernelSeconds = 2.9e-6, kEfficiency = 0.66;
  const double element = kernel::CudaTypeBytes(tensor.type);
  const double bytes = 2 * element * Elements(tensor) * padded / Dim(tensor, 1);
  return kKernelSeconds + MemorySeconds(gpu, bytes, kEfficiency);
}

}  // namespace

double LayoutSeconds(const GpuModel& gpu, const Convolution& roles) {
  double seconds = 0;
  for (const DnnTensor* tensor : {roles.image, roles.filter, roles.response}) {
    const double vector = kVectorBytes / kernel::CudaTypeBytes(tensor->type);
    const double padded = std::ceil(Dim(*tensor, 1) / vector) * vector;
    const bool done = tensor == roles.response && WritesChannelsFirst(roles);
    if (IsChannelsFirst(*tensor) && !done) seconds += RewriteSeconds(gpu, *tensor);
    if (padded > Dim(*tensor, 1) && Dim(*tensor, 1) > 1) {
      seconds += PadSeconds(gpu, *tensor, padded);
    }
  }
  return seconds;
}

}  // namespace eidolon::timing::model
