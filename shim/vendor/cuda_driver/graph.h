// Graphs of the driver API. Most calls are the shared ones of gpu/graph_calls.h under a driver
// code. The first versions of some calls know no edge data; those are written as plain edges.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "shim/gpu/graph/graph_calls.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::graph {

// A shared call that answers with the driver's code.
template <auto Call>
struct Answer {
  template <typename... Arguments>
  CUresult operator()(Arguments... arguments) const {
    return ToResult(Call(arguments...));
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
inline constexpr Answer<calls::GetEdges> GetEdges;
inline constexpr Answer<calls::GetDependencies> GetDependencies;
inline constexpr Answer<calls::GetDependentNodes> GetDependentNodes;
inline constexpr Answer<calls::AddEdges> AddDependencies;
inline constexpr Answer<calls::RemoveEdges> RemoveDependencies;
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
inline constexpr Answer<calls::GetExecId> GetExecId;
inline constexpr Answer<calls::SetExecEvent> SetExecEvent;
inline constexpr Answer<calls::SetExecChild> SetExecChild;
inline constexpr Answer<calls::CreateObject> CreateObject;
inline constexpr Answer<calls::RetainObject> RetainObject;
inline constexpr Answer<calls::ReleaseObject> ReleaseObject;
inline constexpr Answer<calls::RetainInGraph> RetainInGraph;
inline constexpr Answer<calls::ReleaseInGraph> ReleaseInGraph;

CUresult GetEdges2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                   std::size_t* count);
CUresult GetDependencies2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                          std::size_t* count);
CUresult GetDependentNodes2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                            std::size_t* count);
CUresult AddDependencies2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                          const CUgraphEdgeData* edges, std::size_t count);
CUresult RemoveDependencies2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                             const CUgraphEdgeData* edges, std::size_t count);
CUresult GetType(CUgraphNode node, CUgraphNodeType* type);
CUresult InstantiateWithLog(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            std::size_t log_bytes);
CUresult InstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                               CUDA_GRAPH_INSTANTIATE_PARAMS* params);
CUresult GetExecFlags(CUgraphExec exec, cuuint64_t* flags);
CUresult Update(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                CUgraphExecUpdateResult* result);
CUresult Update2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);

CUresult AddHost(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                 std::size_t count, const CUDA_HOST_NODE_PARAMS* params);
CUresult GetHost(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params);
CUresult SetHost(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params);
CUresult SetExecHost(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params);

// The first version of the structure lacks its last fields, which are not read.
CUresult AddKernel(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult AddKernel1(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                    std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GetKernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult GetKernel1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult SetKernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult SetKernel1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult SetExecKernel(CUgraphExec exec, CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult SetExecKernel1(CUgraphExec exec, CUgraphNode node,
                        const CUDA_KERNEL_NODE_PARAMS_v1* params);

// Returns those of a launch's attributes that a node has here: clusters, cooperation and priority.
CUresult GetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue* value);
CUresult SetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                      const CUkernelNodeAttrValue* value);
CUresult CopyAttributes(CUgraphNode target, CUgraphNode source);

CUresult AddMemcpy(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_MEMCPY3D* params, CUcontext context);
CUresult GetMemcpy(CUgraphNode node, CUDA_MEMCPY3D* params);
CUresult SetMemcpy(CUgraphNode node, const CUDA_MEMCPY3D* params);
CUresult SetExecMemcpy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                       CUcontext context);
CUresult AddMemset(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context);
CUresult GetMemset(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params);
CUresult SetMemset(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params);
CUresult SetExecMemset(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params,
                       CUcontext context);

// Nodes of every kind. Allocations, semaphores, batches of memory operations and conditional nodes
// are not supported.
CUresult Add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
             CUgraphNodeParams* params);
CUresult Add2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
              const CUgraphEdgeData* edges, std::size_t count, CUgraphNodeParams* params);
CUresult Set(CUgraphNode node, CUgraphNodeParams* params);
CUresult SetExec(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params);

// Returns whether there are such edges; no data stands for plain ones.
bool AreEdges(const CUgraphEdgeData* edges, std::size_t count);

}  // namespace eidolon::shim::cuda_driver::graph
