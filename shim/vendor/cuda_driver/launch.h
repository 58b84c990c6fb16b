// Kernel launches of the driver API.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "shim/gpu/launch/launch.h"

namespace eidolon::shim::cuda_driver::launch {

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CUstream stream, void** parameters, void** extra);
CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** parameters);
CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                        void** extra);

// Grid, block, shared memory and those attributes that say what is launched; hints are left out.
gpu::LaunchShape ShapeOf(const CUlaunchConfig& config);
// Parameters as pointers, or as the packed buffer that `extra` names. kInvalidValue for both or for
// unknown entries.
gpu::Status ParametersOf(void** parameters, void** extra, gpu::LaunchParameters* result);

}  // namespace eidolon::shim::cuda_driver::launch
