// Blocks of a launch on a multiprocessor, and what each of them has there. Pure functions.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::count {

// Blocks that run at once on one multiprocessor: what the launch says, or what its registers,
// threads and shared memory allow; at least one.
double ResidentBlocks(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu);

// Bytes of the multiprocessor's cache, which shared memory is a part of, for each of so many
// blocks.
double CachedBytes(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu,
                   double resident);

}  // namespace eidolon::timing::count
