// The boundary between the messages of proto/eidolon/timing/v1 and the domain's own types.
#pragma once

#include "eidolon/timing/v1/timing.pb.h"
#include "services/base/error.h"
#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing {

// Names the field that is missing or too large: "kernel: name is longer than 65536".
base::Result<kernel::WorkItem> FromMessage(const v1::WorkItem& message);

void ToMessage(const model::Estimate& estimate, common::v1::Estimate& message);
void ToMessage(const gpu_model::GpuModel& gpu, v1::Gpu& message);

}  // namespace eidolon::timing
