// Launching kernels: the hottest path of the shim. Parameters are gathered by the kernel's layout,
// device pointers blanked, the result interned, and one record written (or a graph node made).
#pragma once

#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"

namespace eidolon::shim::gpu {

// Launches on a stream, as cuLaunchKernel would: kInvalidValue for impossible shapes,
// kLaunchOutOfResources when a block needs more than a multiprocessor has.
Status LaunchKernel(const Kernel& kernel, const LaunchShape& shape,
                    const LaunchParameters& parameters, StreamHandle stream) noexcept;

}  // namespace eidolon::shim::gpu
