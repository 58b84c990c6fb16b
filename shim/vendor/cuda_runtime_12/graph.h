// Edges of graphs with the parameters of CUDA 12, which had no edge data. Thread-safe as far as the
// vendor's are.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eidolon::shim::cuda_runtime_12::graph {

cudaError_t GetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                     std::size_t* count);
cudaError_t GetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t GetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t AddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                            const cudaGraphNode_t* to, std::size_t count);
cudaError_t RemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                               const cudaGraphNode_t* to, std::size_t count);

}  // namespace eidolon::shim::cuda_runtime_12::graph
