// Graphs of the runtime API. Most calls are the shared ones of gpu/graph_calls.h under a runtime
// code.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "shim/gpu/graph/graph_calls.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::graph {

// A shared call that answers with the runtime's code.
template <auto Call>
struct Answer {
  template <typename... Arguments>
  cudaError_t operator()(Arguments... arguments) const {
    return error_state::Finish(Call(arguments...));
  }
};

namespace calls = gpu::graph_calls;
inline constexpr Answer<calls::Create> Create;
inline constexpr Answer<calls::Destroy> Destroy;
inline constexpr Answer<calls::Clone> Clone;
inline constexpr Answer<calls::GetId> GetId;
inline constexpr Answer<calls::DebugDotPrint> DebugDotPrint;
inline constexpr Answer<calls::GetNodes> GetNodes;
inline constexpr Answer<calls::GetRootNodes> GetRootNodes;
inline constexpr Answer<calls::DestroyNodeHandle> DestroyNode;
inline constexpr Answer<calls::FindInClone> FindInClone;
inline constexpr Answer<calls::GetContainingGraph> GetContainingGraph;
inline constexpr Answer<calls::GetLocalId> GetLocalId;
inline constexpr Answer<calls::AddEmpty> AddEmpty;
inline constexpr Answer<calls::AddChild> AddChild;
inline constexpr Answer<calls::GetChild> GetChild;
inline constexpr Answer<calls::AddEventRecord> AddEventRecord;
inline constexpr Answer<calls::AddEventWait> AddEventWait;
inline constexpr Answer<calls::SetEvent> SetEvent;
inline constexpr Answer<calls::GetEvent> GetEvent;
inline constexpr Answer<calls::Instantiate> Instantiate;
inline constexpr Answer<calls::DestroyExecHandle> DestroyExec;
inline constexpr Answer<calls::Launch> Launch;
inline constexpr Answer<calls::Upload> Upload;
inline constexpr Answer<calls::GetExecFlags> GetExecFlags;
inline constexpr Answer<calls::GetExecId> GetExecId;
inline constexpr Answer<calls::SetExecEvent> SetExecEvent;
inline constexpr Answer<calls::SetExecChild> SetExecChild;
inline constexpr Answer<calls::CreateObject> CreateObject;
inline constexpr Answer<calls::RetainObject> RetainObject;
inline constexpr Answer<calls::ReleaseObject> ReleaseObject;
inline constexpr Answer<calls::RetainInGraph> RetainInGraph;
inline constexpr Answer<calls::ReleaseInGraph> ReleaseInGraph;

// Calls with the runtime's own structures. Edge data are written as plain edges.
cudaError_t GetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                     cudaGraphEdgeData* edges, std::size_t* count);
cudaError_t GetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                            std::size_t* count);
cudaError_t GetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                              cudaGraphEdgeData* edges, std::size_t* count);
cudaError_t AddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                            const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                            std::size_t count);
cudaError_t RemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                               const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                               std::size_t count);
cudaError_t GetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t InstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                  cudaGraphInstantiateParams* params);
cudaError_t Update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info);

cudaError_t AddHost(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                    std::size_t count, const cudaHostNodeParams* params);
cudaError_t GetHost(cudaGraphNode_t node, cudaHostNodeParams* params);
cudaError_t SetHost(cudaGraphNode_t node, const cudaHostNodeParams* params);
cudaError_t SetExecHost(cudaGraphExec_t exec, cudaGraphNode_t node,
                        const cudaHostNodeParams* params);
cudaError_t AddKernel(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                      std::size_t count, const cudaKernelNodeParams* params);
cudaError_t GetKernel(cudaGraphNode_t node, cudaKernelNodeParams* params);
cudaError_t SetKernel(cudaGraphNode_t node, const cudaKernelNodeParams* params);
cudaError_t SetExecKernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                          const cudaKernelNodeParams* params);

}  // namespace eidolon::shim::cuda_runtime::graph
