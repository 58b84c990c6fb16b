#include "shim/vendor/cuda_runtime_12/graph.h"

#include "shim/vendor/cuda_runtime/graph.h"

namespace eidolon::shim::cuda_runtime_12::graph {

cudaError_t GetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                     std::size_t* count) {
  return cuda_runtime::graph::GetEdges(graph, from, to, nullptr, count);
}

cudaError_t GetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count) {
  return cuda_runtime::graph::GetDependencies(node, nodes, nullptr, count);
}

cudaError_t GetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count) {
  return cuda_runtime::graph::GetDependentNodes(node, nodes, nullptr, count);
}

cudaError_t AddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                            const cudaGraphNode_t* to, std::size_t count) {
  return cuda_runtime::graph::AddDependencies(graph, from, to, nullptr, count);
}

cudaError_t RemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                               const cudaGraphNode_t* to, std::size_t count) {
  return cuda_runtime::graph::RemoveDependencies(graph, from, to, nullptr, count);
}

}  // namespace eidolon::shim::cuda_runtime_12::graph
