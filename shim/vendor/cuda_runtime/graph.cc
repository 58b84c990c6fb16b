// What both faces share is in gpu/graph; here are the calls with the runtime's structures, and its
// kernel nodes, whose function is a symbol. A kernel node's parameters are copied when it is set,
// so the program's array may go. Edges are kept as plain ones, so edge data read back are zeros.
#include "shim/vendor/cuda_runtime/graph.h"

#include <algorithm>
#include <cstring>

#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_runtime/function.h"

namespace eidolon::shim::cuda_runtime::graph {
namespace {

using error_state::Fail;
using error_state::Finish;

// Every edge is kept as a plain one, which is all zeros.
void ClearEdges(cudaGraphEdgeData* edges, std::size_t count) {
  if (edges != nullptr) std::memset(edges, 0, count * sizeof(*edges));
}

bool AreEdges(const cudaGraphEdgeData* edges, std::size_t count) {
  if (edges == nullptr) return true;
  return std::all_of(edges, edges + count, [](const cudaGraphEdgeData& edge) {
    return calls::IsEdge(edge.from_port, edge.to_port, edge.type);
  });
}

gpu::LaunchShape ShapeOf(const cudaKernelNodeParams& params) {
  return {{params.gridDim.x, params.gridDim.y, params.gridDim.z},
          {params.blockDim.x, params.blockDim.y, params.blockDim.z},
          {},
          params.sharedMemBytes,
          false};
}

cudaError_t SetOn(gpu::GraphNode* node, const cudaKernelNodeParams* params) {
  if (node == nullptr || params == nullptr || node->type != gpu::NodeType::kKernel) {
    return Fail(cudaErrorInvalidValue);
  }
  gpu::Kernel* kernel = nullptr;
  if (const cudaError_t error = function::Find(params->func, &kernel); error != cudaSuccess) {
    return error;
  }
  return Finish(gpu::SetKernelNode(*node, *kernel, ShapeOf(*params),
                                   {.pointers = params->kernelParams}, gpu::CurrentDevice()));
}

}  // namespace

cudaError_t GetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                     cudaGraphEdgeData* edges, std::size_t* count) {
  const gpu::Status status = calls::GetEdges(graph, from, to, count);
  if (status == gpu::Status::kSuccess) ClearEdges(edges, *count);
  return Finish(status);
}

cudaError_t GetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                            std::size_t* count) {
  const gpu::Status status = calls::GetDependencies(node, nodes, count);
  if (status == gpu::Status::kSuccess) ClearEdges(edges, *count);
  return Finish(status);
}

cudaError_t GetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                              cudaGraphEdgeData* edges, std::size_t* count) {
  const gpu::Status status = calls::GetDependentNodes(node, nodes, count);
  if (status == gpu::Status::kSuccess) ClearEdges(edges, *count);
  return Finish(status);
}

cudaError_t AddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                            const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                            std::size_t count) {
  if (!AreEdges(edges, count)) return Fail(cudaErrorInvalidValue);
  return Finish(calls::AddEdges(graph, from, to, count));
}

cudaError_t RemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                               const cudaGraphNode_t* to, const cudaGraphEdgeData* /*edges*/,
                               std::size_t count) {
  return Finish(calls::RemoveEdges(graph, from, to, count));
}

cudaError_t GetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  std::uint32_t value = 0;
  const gpu::Status status = calls::GetType(node, type == nullptr ? nullptr : &value);
  if (status == gpu::Status::kSuccess) *type = static_cast<cudaGraphNodeType>(value);
  return Finish(status);
}

cudaError_t InstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                  cudaGraphInstantiateParams* params) {
  if (params == nullptr) return Fail(cudaErrorInvalidValue);
  params->errNode_out = nullptr;
  const gpu::Status status = calls::Instantiate(exec, graph, params->flags);
  params->result_out =
      status == gpu::Status::kSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return Finish(status);
}

cudaError_t Update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  std::uint32_t result = 0;
  cudaGraphNode_t node = nullptr;
  const gpu::Status status = calls::Update(exec, graph, &result, &node);
  if (info != nullptr) {
    *info = {};
    info->result = static_cast<cudaGraphExecUpdateResult>(result);
    info->errorNode = node;
  }
  return Finish(status);
}

cudaError_t AddHost(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                    std::size_t count, const cudaHostNodeParams* params) {
  if (params == nullptr) return Fail(cudaErrorInvalidValue);
  return Finish(calls::AddHost(node, graph, dependencies, count, params->fn, params->userData));
}

cudaError_t GetHost(cudaGraphNode_t node, cudaHostNodeParams* params) {
  if (params == nullptr) return Fail(cudaErrorInvalidValue);
  return Finish(calls::GetHost(node, &params->fn, &params->userData));
}

cudaError_t SetHost(cudaGraphNode_t node, const cudaHostNodeParams* params) {
  if (params == nullptr) return Fail(cudaErrorInvalidValue);
  return Finish(calls::SetHost(node, params->fn, params->userData));
}

cudaError_t SetExecHost(cudaGraphExec_t exec, cudaGraphNode_t node,
                        const cudaHostNodeParams* params) {
  if (params == nullptr) return Fail(cudaErrorInvalidValue);
  return Finish(calls::SetExecHost(exec, node, params->fn, params->userData));
}

cudaError_t AddKernel(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                      std::size_t count, const cudaKernelNodeParams* params) {
  gpu::Graph* owner = gpu::LookupGraph(graph);
  if (owner == nullptr || node == nullptr || params == nullptr) return Fail(cudaErrorInvalidValue);
  gpu::Kernel* kernel = nullptr;
  if (const cudaError_t error = function::Find(params->func, &kernel); error != cudaSuccess) {
    return error;
  }
  gpu::GraphNode* made = nullptr;
  const gpu::Status status =
      gpu::AddKernelNode(*owner, {reinterpret_cast<gpu::GraphNode* const*>(dependencies), count},
                         *kernel, ShapeOf(*params), {.pointers = params->kernelParams}, &made);
  *node = reinterpret_cast<cudaGraphNode_t>(made);
  return Finish(status);
}

cudaError_t GetKernel(cudaGraphNode_t handle, cudaKernelNodeParams* params) {
  gpu::GraphNode* node = gpu::LookupNode(handle);
  auto* kernel = node == nullptr ? nullptr : std::get_if<gpu::KernelNode>(&node->content);
  if (kernel == nullptr || params == nullptr) return Fail(cudaErrorInvalidValue);
  const gpu::LaunchShape& shape = kernel->shape;
  *params = {};
  params->func = const_cast<gpu::Kernel*>(kernel->kernel);
  params->gridDim = {shape.grid.x, shape.grid.y, shape.grid.z};
  params->blockDim = {shape.block.x, shape.block.y, shape.block.z};
  params->sharedMemBytes = static_cast<unsigned>(shape.dynamic_shared_bytes);
  params->kernelParams = kernel->pointers.data();
  return cudaSuccess;
}

cudaError_t SetKernel(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  return SetOn(gpu::LookupNode(node), params);
}

cudaError_t SetExecKernel(cudaGraphExec_t handle, cudaGraphNode_t node,
                          const cudaKernelNodeParams* params) {
  gpu::GraphExec* exec = gpu::LookupExec(handle);
  if (exec == nullptr) return Fail(cudaErrorInvalidValue);
  const cudaError_t error = SetOn(gpu::ExecNode(*exec, gpu::LookupNode(node)), params);
  if (error == cudaSuccess) gpu::MarkChanged(*exec);
  return error;
}

}  // namespace eidolon::shim::cuda_runtime::graph
