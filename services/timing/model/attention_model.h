// Time of attention from rates by head size, mask and length: published on H100, and measured on
// H200 where nothing was published.
#pragma once

#include <optional>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/demand.h"
#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

enum class AttentionLibrary { kFlash2, kCudnn, kMemoryEfficient };

// Operations of the kernel's GEMMs without those that a causal mask leaves out; 0 where the lengths
// are not known.
double AttentionFlops(const kernel::Demand& demand);

// Requires: demand's family is attention with lengths, head size and batch x heads above zero.
Prediction PredictAttention(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                            AttentionLibrary library);

// A forward pass of a few queries for each sequence, as decoding has, and FlashAttention 2's over
// pages of keys (demand.split_keys), from published rows of this GPU or of one of its architecture;
// nothing where there are none, and for many queries that continue a sequence.
std::optional<Prediction> PredictServedAttention(const gpu_model::GpuModel& gpu,
                                                 const kernel::Demand& demand);

}  // namespace eidolon::timing::model
