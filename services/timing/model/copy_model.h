// Time of copies and memsets on the copy engines and in device memory.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

Prediction PredictCopy(const gpu_model::GpuModel& gpu, const kernel::Copy& copy);

}  // namespace eidolon::timing::model
