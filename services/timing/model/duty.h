// A duty is what a work item asks of its GPU's matrix units and memory, from which its power
// follows.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// Returns the duty of the item, whose counts are `counts`.
Duty DutyOf(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item,
            const kernel::WorkCounts& counts);

}  // namespace eidolon::timing::model
