// Counting a launch: runs some of its blocks in the interpreter, on memory that nobody knows.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/base/error.h"
#include "services/timing/count/counts.h"
#include "services/timing/count/kernel_code.h"
#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::count {

struct CountLimits {
  std::uint64_t warp_steps = 1'500'000;  // Of all blocks; about 30 ns each.
};

// Counts the launch for a GPU. Which blocks: the corners of the grid, the last of those that run at
// once, others spread evenly, more of them where blocks differ, and neighbours.
//
// Content of memory that a branch or an address depends on reads as zeros; where other content
// leads to other counts, the result says so. kUnsupported when no block can be run to its end: one
// that faults, that waits for others, or that is longer than the limit.
base::Result<Counts> CountLaunch(const KernelCode& code, const kernel::KernelLaunch& launch,
                                 const gpu_model::GpuModel& gpu, const CountLimits& limits);

}  // namespace eidolon::timing::count
