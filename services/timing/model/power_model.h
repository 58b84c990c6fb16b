// The power of work at its burst clock, and how much of its time goes with the clock: by the shares
// of the GPU's peak rate and bandwidth that it reaches (docs/timing_power.md).
#pragma once

#include <string_view>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// Returns the draw of work of this type, whose counts are `counts`.
Duty DutyOf(const gpu_model::GpuModel& gpu, std::string_view type,
            const kernel::WorkCounts& counts);

// Zeros for a GPU whose power is not known.
Draw DrawOf(const gpu_model::GpuModel& gpu, const Duty& duty, base::Duration duration);

// Time over that of a burst, of work that runs without pause for long.
double SlowdownAtLimit(const gpu_model::GpuModel& gpu, const Draw& draw);

}  // namespace eidolon::timing::model
