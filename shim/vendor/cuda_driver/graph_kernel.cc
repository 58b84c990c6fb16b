// Kernel nodes of the driver API, in both versions of their structure.
#include <type_traits>

#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_driver/graph.h"
#include "shim/vendor/cuda_driver/launch.h"

namespace eidolon::shim::cuda_driver::graph {
namespace {

using gpu::Status;

// Source of a node.
struct Source {
  const gpu::Kernel* kernel = nullptr;
  gpu::LaunchShape shape;
  gpu::LaunchParameters parameters;
};

template <typename Params>
Status Read(const Params* params, Source* source) {
  if (params == nullptr) return Status::kInvalidValue;
  const void* handle = params->func;
  if constexpr (std::is_same_v<Params, CUDA_KERNEL_NODE_PARAMS_v2>) {
    if (handle == nullptr) handle = params->kern;
  }
  source->kernel = gpu::LookupKernel(handle);
  if (source->kernel == nullptr) return Status::kInvalidHandle;
  source->shape = {{params->gridDimX, params->gridDimY, params->gridDimZ},
                   {params->blockDimX, params->blockDimY, params->blockDimZ},
                   {},
                   params->sharedMemBytes,
                   false};
  return launch::ParametersOf(params->kernelParams, params->extra, &source->parameters);
}

template <typename Params>
CUresult Add(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
             const Params* params) {
  gpu::Graph* graph = gpu::LookupGraph(handle);
  if (graph == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Source source;
  if (const Status status = Read(params, &source); status != Status::kSuccess) {
    return ToResult(status);
  }
  gpu::GraphNode* made = nullptr;
  const Status status =
      gpu::AddKernelNode(*graph, {reinterpret_cast<gpu::GraphNode* const*>(dependencies), count},
                         *source.kernel, source.shape, source.parameters, &made);
  *node = reinterpret_cast<CUgraphNode>(made);
  return ToResult(status);
}

// Null when it was not made from a kernel.
gpu::KernelNode* KernelOf(gpu::GraphNode* node) {
  return node == nullptr ? nullptr : std::get_if<gpu::KernelNode>(&node->content);
}

// The same launch in another shape.
Status Reshape(gpu::GraphNode& node, const gpu::LaunchShape& shape) {
  const gpu::KernelNode& kernel = *KernelOf(&node);
  const gpu::LaunchParameters parameters{.packed = kernel.parameters.data(),
                                         .packed_bytes = kernel.parameters.size()};
  return gpu::SetKernelNode(node, *kernel.kernel, shape, parameters, gpu::CurrentDevice());
}

template <typename Params>
Status SetOn(gpu::GraphNode* node, const Params* params) {
  auto* before = KernelOf(node);
  if (before == nullptr) return Status::kInvalidValue;
  Source source;
  if (const Status status = Read(params, &source); status != Status::kSuccess) return status;
  // The parameters say nothing of attributes.
  source.shape.cluster = before->shape.cluster;
  source.shape.cooperative = before->shape.cooperative;
  return gpu::SetKernelNode(*node, *source.kernel, source.shape, source.parameters,
                            gpu::CurrentDevice());
}

template <typename Params>
CUresult SetOnExec(CUgraphExec handle, CUgraphNode node, const Params* params) {
  gpu::GraphExec* exec = gpu::LookupExec(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Status status = SetOn(gpu::ExecNode(*exec, gpu::LookupNode(node)), params);
  if (status == Status::kSuccess) gpu::MarkChanged(*exec);
  return ToResult(status);
}

template <typename Params>
CUresult Get(CUgraphNode handle, Params* params) {
  auto* kernel = KernelOf(gpu::LookupNode(handle));
  if (kernel == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const gpu::LaunchShape& shape = kernel->shape;
  *params = {};
  params->func = reinterpret_cast<CUfunction>(const_cast<gpu::Kernel*>(kernel->kernel));
  params->gridDimX = shape.grid.x;
  params->gridDimY = shape.grid.y;
  params->gridDimZ = shape.grid.z;
  params->blockDimX = shape.block.x;
  params->blockDimY = shape.block.y;
  params->blockDimZ = shape.block.z;
  params->sharedMemBytes = static_cast<unsigned>(shape.dynamic_shared_bytes);
  params->kernelParams = kernel->pointers.data();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult AddKernel(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                   std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return Add(node, graph, dependencies, count, params);
}

CUresult AddKernel1(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                    std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Add(node, graph, dependencies, count, params);
}

CUresult GetKernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return Get(node, params);
}

CUresult GetKernel1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Get(node, params);
}

CUresult SetKernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return ToResult(SetOn(gpu::LookupNode(node), params));
}

CUresult SetKernel1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return ToResult(SetOn(gpu::LookupNode(node), params));
}

CUresult SetExecKernel(CUgraphExec exec, CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return SetOnExec(exec, node, params);
}

CUresult SetExecKernel1(CUgraphExec exec, CUgraphNode node,
                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return SetOnExec(exec, node, params);
}

CUresult GetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                      CUkernelNodeAttrValue* value) {
  gpu::GraphNode* node = gpu::LookupNode(handle);
  const auto* kernel = KernelOf(node);
  if (kernel == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const gpu::LaunchShape& shape = kernel->shape;
  *value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value->clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      value->cooperative = shape.cooperative ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = node->priority;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult SetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                      const CUkernelNodeAttrValue* value) {
  gpu::GraphNode* node = gpu::LookupNode(handle);
  const auto* kernel = KernelOf(node);
  if (kernel == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  gpu::LaunchShape shape = kernel->shape;
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      shape.cluster = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
      return ToResult(Reshape(*node, shape));
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      shape.cooperative = value->cooperative != 0;
      return ToResult(Reshape(*node, shape));
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      node->priority = value->priority;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult CopyAttributes(CUgraphNode target, CUgraphNode source) {
  gpu::GraphNode* to = gpu::LookupNode(target);
  gpu::GraphNode* from = gpu::LookupNode(source);
  if (KernelOf(to) == nullptr || KernelOf(from) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  gpu::LaunchShape shape = KernelOf(to)->shape;
  shape.cluster = KernelOf(from)->shape.cluster;
  shape.cooperative = KernelOf(from)->shape.cooperative;
  to->priority = from->priority;
  return ToResult(Reshape(*to, shape));
}

}  // namespace eidolon::shim::cuda_driver::graph
