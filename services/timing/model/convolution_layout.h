// Time of the kernels that cuDNN runs around a convolution's own: its tensor-core kernels want
// channels last, and whole pieces of 16 bytes of them.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/convolution_shape.h"

namespace eidolon::timing::model {

// 0 where channels are last and fill whole pieces.
double LayoutSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles);

}  // namespace eidolon::timing::model
