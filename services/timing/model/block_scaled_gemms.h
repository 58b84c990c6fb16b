// GEMMs of operands with a scale for each block (NVFP4, and FP8 with a scale for 128 x 128 weights
// and 1 x 128 activations), from the rows of serving stacks (kernel_profiles/GPU.gemm.zst).
#pragma once

#include <optional>
#include <string_view>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

// The tables' name of the operands' type, by the scale mode: "nvfp4", "fp8_block"; empty for
// others.
std::string_view BlockScaledType(const kernel::Gemm& gemm);

// y[m,n] = x[m,k] w[n,k]^T of that type: the geometric mean of the stacks' kernels on this GPU, or
// on one of its architecture, less what quantising x moves, which is in their rows. Nothing where
// no such kernel has rows.
std::optional<Prediction> PredictBlockScaledGemm(const gpu_model::GpuModel& gpu,
                                                 std::string_view type, double m, double n,
                                                 double k);

}  // namespace eidolon::timing::model
