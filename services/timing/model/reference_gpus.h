// Chooses the measured GPUs that are most alike another one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::model {

// The built-in model of the GPU that rows or a table of ours were measured on, whatever a user's
// file of that name says. Requires: there is one.
const gpu_model::GpuModel& BuiltInGpu(std::string_view name);

struct ReferenceGpu {
  const gpu_model::GpuModel* gpu = nullptr;  // Built in, hence never destroyed.
  bool same_architecture = false;
};

// The architecture, as far as libraries tell them apart: Ada has the matrix instructions and the
// memory of the RTX parts after it, not those of A100.
std::uint32_t ArchitectureOf(const gpu_model::GpuModel& gpu);

// All GPUs with published rows but `gpu` itself, the most alike first: those of the same
// architecture, and then the nearest in bytes of bandwidth an operation.
std::vector<ReferenceGpu> ReferenceGpusFor(const gpu_model::GpuModel& gpu);

}  // namespace eidolon::timing::model
