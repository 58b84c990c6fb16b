// What both faces share is in gpu/graph; here are the calls whose structures only the driver has.
// Instantiation and update report failures by their result only, with no node and an empty log.
// Programmatic edges are accepted and kept as plain ones, so edge data read back are zeros.
#include "shim/vendor/cuda_driver/graph.h"

#include <algorithm>
#include <cstring>

#include "shim/gpu/graph/graph_exec.h"

namespace eidolon::shim::cuda_driver::graph {
namespace {

using gpu::Status;

// Every edge is kept as a plain one, which is all zeros.
CUresult WithPlainEdges(Status status, CUgraphEdgeData* edges, const std::size_t* count) {
  if (status == Status::kSuccess && edges != nullptr) {
    std::memset(edges, 0, *count * sizeof(*edges));
  }
  return ToResult(status);
}

}  // namespace

bool AreEdges(const CUgraphEdgeData* edges, std::size_t count) {
  if (edges == nullptr) return true;
  return std::all_of(edges, edges + count, [](const CUgraphEdgeData& edge) {
    return calls::IsEdge(edge.from_port, edge.to_port, edge.type);
  });
}

CUresult GetEdges2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                   std::size_t* count) {
  return WithPlainEdges(calls::GetEdges(graph, from, to, count), edges, count);
}

CUresult GetDependencies2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                          std::size_t* count) {
  return WithPlainEdges(calls::GetDependencies(node, nodes, count), edges, count);
}

CUresult GetDependentNodes2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                            std::size_t* count) {
  return WithPlainEdges(calls::GetDependentNodes(node, nodes, count), edges, count);
}

CUresult AddDependencies2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                          const CUgraphEdgeData* edges, std::size_t count) {
  if (!AreEdges(edges, count)) return CUDA_ERROR_INVALID_VALUE;
  return AddDependencies(graph, from, to, count);
}

CUresult RemoveDependencies2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                             const CUgraphEdgeData* /*edges*/, std::size_t count) {
  return RemoveDependencies(graph, from, to, count);
}

CUresult GetType(CUgraphNode node, CUgraphNodeType* type) {
  std::uint32_t value = 0;
  const Status status = calls::GetType(node, type == nullptr ? nullptr : &value);
  if (status == Status::kSuccess) *type = static_cast<CUgraphNodeType>(value);
  return ToResult(status);
}

CUresult InstantiateWithLog(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return Instantiate(exec, graph, 0ull);
}

CUresult InstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                               CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  params->hErrNode_out = nullptr;
  const Status status = calls::Instantiate(exec, graph, params->flags);
  params->result_out =
      status == Status::kSuccess ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return ToResult(status);
}

CUresult GetExecFlags(CUgraphExec exec, cuuint64_t* flags) {
  unsigned long long value = 0;
  const Status status = calls::GetExecFlags(exec, flags == nullptr ? nullptr : &value);
  if (status == Status::kSuccess) *flags = value;
  return ToResult(status);
}

CUresult Update(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info = {};
  const CUresult status = Update2(exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return status;
}

CUresult Update2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  std::uint32_t result = 0;
  CUgraphNode node = nullptr;
  const Status status = calls::Update(exec, graph, &result, &node);
  if (info != nullptr) {
    *info = {};
    info->result = static_cast<CUgraphExecUpdateResult>(result);
    info->errorNode = node;
  }
  return ToResult(status);
}

CUresult AddHost(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                 std::size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(calls::AddHost(node, graph, dependencies, count, params->fn, params->userData));
}

CUresult GetHost(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(calls::GetHost(node, &params->fn, &params->userData));
}

CUresult SetHost(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(calls::SetHost(node, params->fn, params->userData));
}

CUresult SetExecHost(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(calls::SetExecHost(exec, node, params->fn, params->userData));
}

}  // namespace eidolon::shim::cuda_driver::graph
