#include "services/timing/model/counts.h"

#include <algorithm>

#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/dnn_model.h"

namespace eidolon::timing::model {

using kernel::Demand;
using kernel::Family;
using kernel::WorkCounts;

namespace {

double GemmFlops(double m, double n, double k, double batch) { return 2 * m * n * k * batch; }

WorkCounts CountsOfKernel(const kernel::KernelLaunch& launch, kernel::KernelNames* names) {
  if (const auto gemm = kernel::FindGroupedGemm(launch)) {
    using Ragged = workload::GroupedGemm::Ragged;
    const double groups = gemm->ragged == Ragged::kNone ? gemm->groups : 1;
    return {.matrix_flops = GemmFlops(static_cast<double>(gemm->m), static_cast<double>(gemm->n),
                                      static_cast<double>(gemm->k), groups)};
  }
  const auto name = names->Get(launch.name);
  if (const auto step = kernel::OptimizerStep(launch, *name)) return *step;
  if (const auto lookups = kernel::TableLookups(launch, *name)) return {.lookups = lookups};
  const Demand demand = kernel::Recognise(launch, *name);
  switch (demand.family) {
    case Family::kAttentionForward:
    case Family::kAttentionBackward:
      return {.matrix_flops = AttentionFlops(demand)};
    case Family::kGemm:
    case Family::kConvolution:
      return {.matrix_flops = demand.flops};
    default:
      return {};
  }
}

}  // namespace

WorkCounts CountsOf(const kernel::WorkItem& item, kernel::KernelNames* names) {
  if (const auto* launch = std::get_if<kernel::KernelLaunch>(&item)) {
    return CountsOfKernel(*launch, names);
  }
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) {
    const std::uint64_t batch = std::max<std::uint64_t>(1, gemm->batch);
    return {
        .matrix_flops = GemmFlops(static_cast<double>(gemm->m), static_cast<double>(gemm->n),
                                  static_cast<double>(gemm->k), static_cast<double>(batch)),
        // Column-major: a linear layer's outputs are the rows of its result.
        .gemm = kernel::GemmRows{.rows = gemm->n * batch, .outputs = gemm->m, .inputs = gemm->k}};
  }
  if (const auto* graph = std::get_if<kernel::DnnGraph>(&item)) {
    return {.matrix_flops = MatrixFlops(*graph)};
  }
  return {};
}

}  // namespace eidolon::timing::model
