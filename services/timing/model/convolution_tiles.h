// Time of cuDNN's own convolution kernels by the tiles that they work on: those of sm_90 and sm_80
// on tensor cores, and those without.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/convolution_shape.h"

namespace eidolon::timing::model {

// Returns the time of one group, without changes of layout, on a GPU from 9.0 on.
double TensorCoreSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles);

// Returns the time of all groups in 16 bits, each as if it had so many channels and filters.
double GroupsSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles, double channels,
                     double filters);

// Returns the time of points in TF32, forward: CUTLASS's GEMM of sm_80, as they lie.
double PointsSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles);

// Returns the time of one group, in single precision without tensor cores.
double PlainSeconds(const gpu_model::GpuModel& gpu, const Convolution& roles);

// Returns whether the kernel writes its result with channels first itself: those of sm_80 in TF32.
bool WritesChannelsFirst(const Convolution& roles);

// Returns whether cuDNN takes kernels without tensor cores though TF32 is allowed.
bool IsPlainAnyway(const Convolution& roles);

}  // namespace eidolon::timing::model
