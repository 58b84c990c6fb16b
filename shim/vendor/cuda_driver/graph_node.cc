// Nodes of the driver API in the structure that holds every kind.
#include "shim/vendor/cuda_driver/graph.h"

namespace eidolon::shim::cuda_driver::graph {
namespace {

CUDA_KERNEL_NODE_PARAMS_v2 KernelOf(const CUDA_KERNEL_NODE_PARAMS_v3& p) {
  return {.func = p.func,
          .gridDimX = p.gridDimX,
          .gridDimY = p.gridDimY,
          .gridDimZ = p.gridDimZ,
          .blockDimX = p.blockDimX,
          .blockDimY = p.blockDimY,
          .blockDimZ = p.blockDimZ,
          .sharedMemBytes = p.sharedMemBytes,
          .kernelParams = p.kernelParams,
          .extra = p.extra,
          .kern = p.kern,
          .ctx = p.ctx};
}

CUDA_MEMSET_NODE_PARAMS MemsetOf(const CUDA_MEMSET_NODE_PARAMS_v2& p) {
  return {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
}

CUDA_HOST_NODE_PARAMS HostOf(const CUDA_HOST_NODE_PARAMS_v2& p) { return {p.fn, p.userData}; }

CUresult AddGraph(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                  std::size_t count, const CUDA_CHILD_GRAPH_NODE_PARAMS& params) {
  switch (params.ownership) {
    case CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE:
      return AddChild(node, graph, dependencies, count, params.graph);
    case CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE:
      return ToResult(calls::AddMovedChild(node, graph, dependencies, count, params.graph));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult Add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
             CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = KernelOf(params->kernel);
      return AddKernel(node, graph, dependencies, count, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return AddMemcpy(node, graph, dependencies, count, &params->memcpy.copyParams, nullptr);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = MemsetOf(params->memset);
      return AddMemset(node, graph, dependencies, count, &memset, nullptr);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = HostOf(params->host);
      return AddHost(node, graph, dependencies, count, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return AddGraph(node, graph, dependencies, count, params->graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return AddEmpty(node, graph, dependencies, count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return AddEventWait(node, graph, dependencies, count, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return AddEventRecord(node, graph, dependencies, count, params->eventRecord.event);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult Add2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
              const CUgraphEdgeData* edges, std::size_t count, CUgraphNodeParams* params) {
  if (!AreEdges(edges, count)) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count, params);
}

CUresult Set(CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = KernelOf(params->kernel);
      return SetKernel(node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return SetMemcpy(node, &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = MemsetOf(params->memset);
      return SetMemset(node, &memset);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = HostOf(params->host);
      return SetHost(node, &host);
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return SetEvent(node, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return SetEvent(node, params->eventRecord.event);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult SetExec(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = KernelOf(params->kernel);
      return SetExecKernel(exec, node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return SetExecMemcpy(exec, node, &params->memcpy.copyParams, nullptr);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = MemsetOf(params->memset);
      return SetExecMemset(exec, node, &memset, nullptr);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = HostOf(params->host);
      return SetExecHost(exec, node, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return SetExecChild(exec, node, params->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return SetExecEvent(exec, node, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return SetExecEvent(exec, node, params->eventRecord.event);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace eidolon::shim::cuda_driver::graph
