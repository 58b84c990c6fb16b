// A heuristic returns engines by expected speed, some of which then refuse the graph, so each is
// tried until a plan can be made, as programs do. Choosing by time would give a faster engine than
// programs get. The configuration must outlive its plan. A workspace is allocated with the plan,
// because its size differs by engine; an engine whose workspace does not fit is passed over.
#include "services/timing/replay/dnn_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;

namespace {

constexpr std::int64_t kEnginesMax = 16;

}  // namespace

Result<void> DnnPlan::Choose(const DnnDescriptor& graph,
                             std::span<const cudnnBackendHeurMode_t> heuristics,
                             const std::string& what, CUstream stream) {
  for (const cudnnBackendHeurMode_t mode : heuristics) {
    auto chosen = ChooseBy(graph, mode, stream);
    if (chosen || chosen.error().code != ErrorCode::kNotFound) return chosen;
  }
  return base::Fail(ErrorCode::kUnsupported, base::StrCat("cuDNN has no engine for ", what));
}

// The first of this heuristic's engines that works; not found when none does.
Result<void> DnnPlan::ChooseBy(const DnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                               CUstream stream) {
  auto heuristic = cudnn_.Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  if (!heuristic) return std::unexpected(heuristic.error());
  auto done = cudnn_.Refer(*heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  if (done)
    done = cudnn_.Set(*heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (!done) return done;
  const auto none = base::Fail(ErrorCode::kNotFound, "no engine");
  if (!cudnn_.Finish(*heuristic, "asking the heuristic")) return none;
  std::vector<DnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < kEnginesMax; ++i) {
    auto made = cudnn_.Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!made) return std::unexpected(made.error());
    configurations.push_back(std::move(*made));
    raw.push_back(configurations.back().get());
  }
  std::int64_t count = 0;
  done = Cudnn::Check(cudnn_.cudnnBackendGetAttribute(
                          heuristic->get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, kEnginesMax, &count, raw.data()),
                      "asking the heuristic");
  if (!done) return none;
  for (std::int64_t i = 0; i < std::min(count, kEnginesMax); ++i) {
    DnnDescriptor& configuration = configurations[static_cast<std::size_t>(i)];
    if (!PlanFor(configuration, stream)) continue;
    configuration_ = std::move(configuration);
    return {};
  }
  return none;
}

Result<void> DnnPlan::PlanFor(const DnnDescriptor& configuration, CUstream stream) {
  auto made = cudnn_.Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  const cudnnHandle_t handle = cudnn_.handle();
  auto done = cudnn_.Set(*made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (done) done = cudnn_.Refer(*made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (done) done = cudnn_.Finish(*made, "making a plan");
  std::int64_t bytes = 0, count = 0;
  if (done) {
    done = Cudnn::Check(
        cudnn_.cudnnBackendGetAttribute(made->get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                        CUDNN_TYPE_INT64, 1, &count, &bytes),
        "asking for the workspace's size");
  }
  if (!done) return done;
  if (bytes < 0) return base::Fail(ErrorCode::kInternal, "a workspace of less than nothing");
  auto workspace =
      Operand::Make(cudnn_.driver(), CUDA_R_8U, static_cast<std::uint64_t>(bytes), stream);
  if (!workspace) return std::unexpected(workspace.error());
  workspace_ = std::move(*workspace);
  plan_ = std::move(*made);
  return {};
}

Result<void> DnnPlan::Bind(std::span<const std::int64_t> uids, std::span<void* const> pointers) {
  auto made = cudnn_.Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  if (!made) return std::unexpected(made.error());
  pack_ = std::move(*made);
  const auto count = static_cast<std::int64_t>(uids.size());
  void* workspace = workspace_.pointer();
  auto done =
      cudnn_.Set(pack_, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids.data());
  if (done) {
    done = cudnn_.Set(pack_, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                      pointers.data());
  }
  if (done) {
    done = cudnn_.Set(pack_, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  }
  return done ? cudnn_.Finish(pack_, "binding tensors") : done;
}

Result<void> DnnPlan::Enqueue(CUstream stream) {
  auto done = Cudnn::Check(cudnn_.cudnnSetStream(cudnn_.handle(), stream), "choosing the stream");
  if (!done) return done;
  return Cudnn::Check(cudnn_.cudnnBackendExecute(cudnn_.handle(), plan_.get(), pack_.get()),
                      "running the plan");
}

}  // namespace eidolon::timing::replay
