// Reports show the operations and bytes that a model asks for, so matrix operations follow from the
// sizes alone, without what kernels pad; times come from other formulas. Bytes are each operand
// once, of optimizers and embeddings what a step has to read and write. A GEMM's rows are given
// with it, from which reports derive the samples of a step.
#include "services/timing/model/counts.h"

#include <algorithm>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/dnn_model.h"
#include "services/timing/model/dnn_tensors.h"

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
    const double m = static_cast<double>(gemm->m);
    const double n = static_cast<double>(gemm->n);
    const double k = static_cast<double>(gemm->k);
    return {.matrix_flops = GemmFlops(m, n, k, groups),
            .bytes = 2 * groups * (m * k + n * k + m * n)};
  }
  const auto name = names->Get(launch.name);
  if (auto step = kernel::OptimizerStep(launch, *name)) {
    step->bytes = 2 * step->parameters + step->gradients + 2 * step->optimizer_state;
    return *step;
  }
  if (const auto lookups = kernel::TableLookups(launch, *name)) {
    const double rows = static_cast<double>(lookups->indices);
    return {.bytes = 2 * rows * static_cast<double>(lookups->row_bytes), .lookups = lookups};
  }
  const Demand demand = kernel::Recognise(launch, *name);
  switch (demand.family) {
    case Family::kAttentionForward:
    case Family::kAttentionBackward:
      return {.matrix_flops = AttentionFlops(demand), .bytes = demand.bytes};
    case Family::kGemm:
    case Family::kConvolution:
      return {.matrix_flops = demand.flops, .bytes = demand.bytes};
    default:
      return {.bytes = demand.bytes};
  }
}

}  // namespace

double OperandBytes(const kernel::Gemm& gemm) {
  const auto size = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(std::max<std::uint64_t>(a, 1)) *
           static_cast<double>(std::max<std::uint64_t>(b, 1));
  };
  return static_cast<double>(std::max<std::uint64_t>(gemm.batch, 1)) *
         (size(gemm.m, gemm.k) * kernel::CudaTypeBytes(gemm.type_a) +
          size(gemm.n, gemm.k) * kernel::CudaTypeBytes(gemm.type_b) +
          size(gemm.m, gemm.n) * kernel::CudaTypeBytes(gemm.type_d));
}

WorkCounts CountsOf(const kernel::WorkItem& item, kernel::KernelNames* names) {
  if (const auto* launch = std::get_if<kernel::KernelLaunch>(&item)) {
    return CountsOfKernel(*launch, names);
  }
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) {
    const std::uint64_t batch = std::max<std::uint64_t>(1, gemm->batch);
    return {
        .matrix_flops = GemmFlops(static_cast<double>(gemm->m), static_cast<double>(gemm->n),
                                  static_cast<double>(gemm->k), static_cast<double>(batch)),
        .bytes = OperandBytes(*gemm),
        // Column-major: a linear layer's outputs are the rows of its result.
        .gemm = kernel::GemmRows{.rows = gemm->n * batch, .outputs = gemm->m, .inputs = gemm->k}};
  }
  if (const auto* graph = std::get_if<kernel::DnnGraph>(&item)) {
    return {.matrix_flops = MatrixFlops(*graph), .bytes = MemoryBytes(*graph)};
  }
  if (const auto* copy = std::get_if<kernel::Copy>(&item)) {
    const double bytes = static_cast<double>(copy->bytes);
    if (copy->kind == workload::CopyKind::kMemset) return {.bytes = bytes};
    return {.bytes = copy->kind == workload::CopyKind::kDeviceToDevice ? 2 * bytes : 0};
  }
  return {.bytes = static_cast<double>(std::get<kernel::LibraryCall>(item).memory_bytes)};
}

}  // namespace eidolon::timing::model
