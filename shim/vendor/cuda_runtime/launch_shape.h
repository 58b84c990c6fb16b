// The shape of a launch as the runtime's structures give it.
#pragma once

#include <cuda_runtime_api.h>

#include "services/contract/workload/work.h"
#include "shim/gpu/launch/launch.h"

namespace eidolon::shim::cuda_runtime::launch {

inline workload::Dim3 ToDim3(dim3 dims) { return {dims.x, dims.y, dims.z}; }

// Grid, block, shared memory and those attributes that say what is launched; hints are left out.
gpu::LaunchShape ShapeOf(const cudaLaunchConfig_t& config);

}  // namespace eidolon::shim::cuda_runtime::launch
