// Copy and memset nodes of the driver API. The context is that of the stream that the graph is
// launched on.
#include <cstring>
#include <span>

#include "shim/gpu/copy/copy.h"
#include "shim/gpu/graph/graph.h"
#include "shim/vendor/cuda_driver/copy.h"
#include "shim/vendor/cuda_driver/graph.h"

namespace eidolon::shim::cuda_driver::graph {
namespace {

using gpu::NodeType;
using gpu::Status;

Status Read(const CUDA_MEMCPY3D& params, gpu::PlannedWork* plan) {
  gpu::CopyRequest request;
  const Status status = copy::RequestOf(&params, &request);
  return status == Status::kSuccess ? gpu::Plan(request, plan) : status;
}

Status Read(const CUDA_MEMSET_NODE_PARAMS& params, gpu::PlannedWork* plan) {
  const unsigned bytes = params.elementSize;
  if (bytes != 1 && bytes != 2 && bytes != 4) return Status::kInvalidValue;
  return gpu::Plan(gpu::FillRequest{.target = reinterpret_cast<void*>(params.dst),
                                    .value = params.value,
                                    .element_bytes = bytes,
                                    .elements = params.width,
                                    .rows = params.height,
                                    .pitch = params.pitch},
                   plan);
}

template <typename Params>
constexpr NodeType kTypeOf = NodeType::kMemcpy;
template <>
constexpr NodeType kTypeOf<CUDA_MEMSET_NODE_PARAMS> = NodeType::kMemset;

template <typename Params>
Status Fill(gpu::GraphNode& node, const Params* params) {
  if (params == nullptr || node.type != kTypeOf<Params>) return Status::kInvalidValue;
  gpu::PlannedWork plan;
  if (const Status status = Read(*params, &plan); status != Status::kSuccess) return status;
  std::span<const std::byte> definition;
  if (plan.work.bytes != 0) definition = std::as_bytes(std::span(&plan.work, 1));
  const Status status = gpu::SetWorkNode(node, definition, std::move(plan.move));
  const auto* bytes = reinterpret_cast<const std::byte*>(params);
  if (status == Status::kSuccess) {
    node.content = gpu::VendorParameters(bytes, bytes + sizeof(*params));
  }
  return status;
}

// Nodes that were captured have no structure to show.
template <typename Params>
CUresult Get(CUgraphNode handle, Params* params) {
  const gpu::GraphNode* node = gpu::LookupNode(handle);
  if (node == nullptr || params == nullptr || node->type != kTypeOf<Params>) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto* bytes = std::get_if<gpu::VendorParameters>(&node->content);
  if (bytes == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  std::memcpy(params, bytes->data(), sizeof(*params));
  return CUDA_SUCCESS;
}

template <typename Params>
CUresult Set(CUgraphNode handle, const Params* params) {
  gpu::GraphNode* node = gpu::LookupNode(handle);
  return node == nullptr ? CUDA_ERROR_INVALID_VALUE : ToResult(Fill(*node, params));
}

template <typename Params>
CUresult SetExec(CUgraphExec exec, CUgraphNode node, const Params* params) {
  return ToResult(
      calls::ChangeExec(exec, node, [params](gpu::GraphNode& copy) { return Fill(copy, params); }));
}

}  // namespace

CUresult AddMemcpy(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_MEMCPY3D* params, CUcontext /*context*/) {
  return ToResult(calls::AddNode(node, graph, dependencies, count, NodeType::kMemcpy,
                                 [params](gpu::GraphNode& made) { return Fill(made, params); }));
}

CUresult GetMemcpy(CUgraphNode node, CUDA_MEMCPY3D* params) { return Get(node, params); }

CUresult SetMemcpy(CUgraphNode node, const CUDA_MEMCPY3D* params) { return Set(node, params); }

CUresult SetExecMemcpy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                       CUcontext /*context*/) {
  return SetExec(exec, node, params);
}

CUresult AddMemset(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                   CUcontext /*context*/) {
  return ToResult(calls::AddNode(node, graph, dependencies, count, NodeType::kMemset,
                                 [params](gpu::GraphNode& made) { return Fill(made, params); }));
}

CUresult GetMemset(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) { return Get(node, params); }

CUresult SetMemset(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return Set(node, params);
}

CUresult SetExecMemset(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                       CUcontext /*context*/) {
  return SetExec(exec, node, params);
}

}  // namespace eidolon::shim::cuda_driver::graph
