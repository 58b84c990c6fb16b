// Time of cuDNN graphs: attention, convolution, normalisation, GEMMs and what is fused
// around them, recognised by their operations.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/demand.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

struct DnnPrediction {
  Prediction prediction;
  kernel::Family family = kernel::Family::kUnknown;
};

DnnPrediction PredictDnn(const gpu_model::GpuModel& gpu, const kernel::DnnGraph& graph);

// Of the graph's attention, convolutions and GEMMs; 0 where it has none, or their tensors do not
// fit together.
double MatrixFlops(const kernel::DnnGraph& graph);

}  // namespace eidolon::timing::model
