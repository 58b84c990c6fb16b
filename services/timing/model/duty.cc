#include "services/timing/model/duty.h"

#include <string>
#include <variant>

#include "services/timing/kernel/element_type.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/power_model.h"

namespace eidolon::timing::model {

namespace {

std::string TypeOf(const kernel::WorkItem& item) {
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) return GemmType(*gemm);
  const auto* graph = std::get_if<kernel::DnnGraph>(&item);
  if (graph == nullptr || graph->tensors.empty()) return "bf16";
  const bool is_wide = kernel::CudaTypeBytes(graph->tensors.front().type) > 2;
  return is_wide ? graph->WithoutTensorCores() ? "fp32" : "tf32" : "bf16";
}

}  // namespace

Duty DutyOf(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item,
            const kernel::WorkCounts& counts) {
  return DutyOf(gpu, TypeOf(item), counts);
}

}  // namespace eidolon::timing::model
