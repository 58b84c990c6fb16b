// Launches as the plane of values sees them: recorded to be run when somebody needs their results,
// or only as something that may have changed memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shim/gpu/launch.h"
#include "shim/gpu/module.h"

namespace eidolon::shim::gpu {

// True when launches must be recorded.
bool MustRecord() noexcept;

// Requires: MustRecord. `parameters` as the device reads them, pointers included.
void RecordLaunch(const Kernel& kernel, const LaunchShape& shape, std::uint32_t work,
                  std::vector<std::byte> parameters);

}  // namespace eidolon::shim::gpu
