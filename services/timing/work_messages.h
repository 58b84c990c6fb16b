// The domain's own types as messages of proto/eidolon/timing/v1.
#pragma once

#include "eidolon/timing/v1/timing.pb.h"
#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing {

void ToMessage(const model::Estimate& estimate, common::v1::Estimate& message);
void ToMessage(const gpu_model::GpuModel& gpu, v1::Gpu& message);

}  // namespace eidolon::timing
