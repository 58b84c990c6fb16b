// The program's own descriptors are made again in their order, each after those that it refers to
// (graph_check.h). Numbers that are passed by value live in `values_`, to which the bound pointers
// lead, so its elements must not move. Numbers whose value is not known become 1.
#include "services/timing/replay/graph_replay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/base/text.h"
#include "services/contract/workload/dnn_value.h"

namespace eidolon::timing::replay {

using base::Result;

Result<std::unique_ptr<GraphCall>> GraphCall::Prepare(Cudnn& cudnn, const kernel::DnnGraph& graph,
                                                      CUstream stream) {
  const auto tensors = CheckGraph(graph);
  if (!tensors) return std::unexpected(tensors.error());
  std::unique_ptr<GraphCall> call(new GraphCall(cudnn));
  for (const kernel::DnnNode& node : graph.nodes) {
    if (auto added = call->AddNode(node); !added) return std::unexpected(added.error());
  }
  // This comes before its memory: most graphs that fail have no engine.
  const cudnnBackendHeurMode_t heuristics[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
  auto done = call->plan_.Choose(call->descriptors_.back(), heuristics, "this graph", stream);
  if (!done) return std::unexpected(done.error());
  for (const auto& [uid, tensor] : *tensors) {
    if (done = call->AddMemory(uid, tensor, stream); !done) return std::unexpected(done.error());
  }
  if (done = call->plan_.Bind(call->uids_, call->pointers_); !done) {
    return std::unexpected(done.error());
  }
  return call;
}

Result<void> GraphCall::AddNode(const kernel::DnnNode& node) {
  auto made = cudnn_.Make(static_cast<cudnnBackendDescriptorType_t>(node.type));
  if (!made) return std::unexpected(made.error());
  Result<void> done;
  if (node.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const cudnnHandle_t handle = cudnn_.handle();
    done = cudnn_.Set(*made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  for (const kernel::DnnAttribute& attribute : node.attributes) {
    if (!done) return done;
    if (attribute.name == workload::kDnnValue) continue;
    const auto name = static_cast<cudnnBackendAttributeName_t>(attribute.name);
    const auto type = static_cast<cudnnBackendAttributeType_t>(attribute.type);
    if (attribute.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      const std::size_t count = attribute.elements.size() / DnnElementBytes(attribute.type);
      done = cudnn_.Set(*made, name, type, static_cast<std::int64_t>(count),
                        attribute.elements.data());
      continue;
    }
    std::vector<cudnnBackendDescriptor_t> others;
    for (const std::uint32_t index : attribute.nodes) others.push_back(descriptors_[index].get());
    done = cudnn_.Set(*made, name, type, static_cast<std::int64_t>(others.size()), others.data());
  }
  if (done) done = cudnn_.Finish(*made, "finishing a descriptor");
  if (!done) return done;
  descriptors_.push_back(std::move(*made));
  return {};
}

Result<void> GraphCall::AddMemory(std::int64_t uid, const GraphTensor& tensor, CUstream stream) {
  uids_.push_back(uid);
  if (!tensor.by_value) {
    auto operand = Operand::Make(cudnn_.driver(), tensor.type, tensor.elements, stream);
    if (!operand) return std::unexpected(operand.error());
    operands_.push_back(std::move(*operand));
    pointers_.push_back(operands_.back().pointer());
    return {};
  }
  auto& value = values_.emplace_back();
  if (tensor.value.empty()) {
    const Scalar one = OneOf(tensor.type);
    std::memcpy(value.data(), one.data(), one.bytes.size());
  } else {
    std::memcpy(value.data(), tensor.value.data(), std::min(tensor.value.size(), value.size()));
  }
  pointers_.push_back(value.data());
  return {};
}

}  // namespace eidolon::timing::replay
