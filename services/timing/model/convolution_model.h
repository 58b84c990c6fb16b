// Time of a convolution or one of its gradients as cuDNN runs it: an implicit GEMM, and
// the kernels that change layouts around it.
#pragma once

#include <optional>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// Nothing when the operation's tensors do not fit together.
std::optional<Prediction> PredictConvolution(const gpu_model::GpuModel& gpu,
                                             const kernel::DnnGraph& graph,
                                             const kernel::DnnOperation& op);

// Operations of the implicit GEMM; 0 when the operation's tensors do not fit together.
double ConvolutionFlops(const kernel::DnnGraph& graph, const kernel::DnnOperation& op);

}  // namespace eidolon::timing::model
