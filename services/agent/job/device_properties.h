// Derives the properties of this server's emulated GPUs, and the device engine's, from the GPU
// model and the simulated cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/ring/segment.h"
#include "services/base/error.h"

namespace eidolon::controller::v1 {
class Assignment;
}
namespace eidolon::timing::v1 {
class Gpu;
}

namespace eidolon::agent::job {

// The content of every session's segment. Fails naming what makes no sense.
base::Result<ring::SegmentContent> SegmentContentOf(const controller::v1::Assignment& assignment,
                                                    const timing::v1::Gpu& gpu);

// `limit_watts`: of its power; 0: the model's. Zeros where the model does not know its power.
device::PowerTraits PowerOf(const timing::v1::Gpu& gpu, double limit_watts);

// One entry a GPU.
std::vector<device::Traits> TraitsOf(const timing::v1::Gpu& gpu, double power_limit_watts,
                                     std::size_t count);

}  // namespace eidolon::agent::job
