// Checks whether a kernel can be launched in a shape, with the answers of the driver when it
// cannot.
#pragma once

#include <cstdint>

#include "services/contract/ring/device_properties.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// True when grid and block are within what any kernel may have on the device: tells the runtime's
// "invalid configuration" from other refusals.
bool IsPossibleShape(const LaunchShape& shape) noexcept;

// Checks what depends on the kernel alone; cheap, for every launch.
Status CheckShape(const Kernel& kernel, const LaunchShape& shape) noexcept;

// The checks that need the whole multiprocessor. `blocks`: BlocksFor of the same launch.
Status CheckResidency(const Kernel& kernel, const LaunchShape& shape,
                      const ring::DeviceProperties& device, std::uint32_t blocks) noexcept;

// Blocks of the launch that a multiprocessor holds at once.
std::uint32_t BlocksFor(const Kernel& kernel, const LaunchShape& shape,
                        const ring::DeviceProperties& device) noexcept;

// The launch's cluster, or the one that the kernel was compiled for or set to; zero: none.
workload::Dim3 ClusterOf(const Kernel& kernel, const LaunchShape& shape) noexcept;

}  // namespace eidolon::shim::gpu
