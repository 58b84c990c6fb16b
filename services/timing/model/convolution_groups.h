// Time of convolutions of several groups in 16 bits on GPUs from 9.0 on: cuDNN pads the channels of
// each group to whole tiles, multiplies, and takes the padding out again.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/convolution_shape.h"

namespace eidolon::timing::model {

// Returns whether cuDNN does so: groups of 32 channels and more, as RegNet has them. What it does
// with narrower ones was not measured.
bool IsOfPaddedGroups(const gpu_model::GpuModel& gpu, const Convolution& roles);

// All kernels. Requires: IsOfPaddedGroups(gpu, roles).
double PaddedGroupsSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles);

}  // namespace eidolon::timing::model
