// Converts counts to time: what each part of a GPU needs for a launch if it is the only one that
// matters. docs/reference/generated/kernel_counts.md has the formulas and where they come from.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "services/timing/count/counts.h"
#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::count {

struct Bound {
  std::string_view name;  // "DRAM", "L2", "issue", "latency", or a pipe's. Static text.
  double seconds = 0;
};

struct CountedTime {
  double seconds = 0;         // Of the launch, the shortest kernel's included.
  double relative_error = 0;  // One standard deviation, by judgement.
  // The longest first. The launch takes longer than the longest where several are near it.
  std::vector<Bound> bounds;
};

// Never less than the GPU's empty_kernel.
CountedTime TimeOf(const Counts& counts, const gpu_model::GpuModel& gpu);

}  // namespace eidolon::timing::count
