// Computes how long work lasts on a GPU with fixed durations (gpu_model.h): a rule of integers,
// which no estimator has a part in.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// work, and
//   kernels:     wave x (blocks of the grid / multiprocessors, rounded up)
//   GEMMs:       2 m n k batch / operations
//   cuDNN:       4 bytes for each element of each tensor in memory / bytes
//   other calls: their operations / operations + their bytes / bytes
//   copies:      bytes / bytes
// each quotient rounded up to a picosecond. Assumed, of the family "fixed".
// Requires: gpu.fixed.
Estimate FixedEstimate(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item);

}  // namespace eidolon::timing::model
