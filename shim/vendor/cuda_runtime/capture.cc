#include "shim/vendor/cuda_runtime/capture.h"

#include <span>

#include "shim/gpu/graph/capture.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::capture {
namespace {

using error_state::Fail;
using error_state::Finish;

// A node's handle is its address.
std::span<gpu::GraphNode* const> Nodes(const cudaGraphNode_t* nodes, std::size_t count) {
  return {reinterpret_cast<gpu::GraphNode* const*>(nodes), count};
}

}  // namespace

cudaError_t Begin(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Finish(gpu::BeginCapture(stream, static_cast<gpu::CaptureMode>(mode)));
}

cudaError_t BeginToGraph(cudaStream_t stream, cudaGraph_t handle,
                         const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* /*edges*/,
                         std::size_t count, cudaStreamCaptureMode mode) {
  gpu::Graph* graph = gpu::LookupGraph(handle);
  if (graph == nullptr) return Fail(cudaErrorInvalidValue);
  return Finish(gpu::BeginCaptureToGraph(stream, *graph, Nodes(dependencies, count),
                                         static_cast<gpu::CaptureMode>(mode)));
}

cudaError_t End(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return Fail(cudaErrorInvalidValue);
  gpu::Graph* made = nullptr;
  const gpu::Status status = gpu::EndCapture(stream, &made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return Finish(status);
}

cudaError_t IsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return Fail(cudaErrorInvalidValue);
  gpu::CaptureInfo info;
  const gpu::Status result = gpu::GetCaptureInfo(stream, &info);
  *status = static_cast<cudaStreamCaptureStatus>(info.status);
  return Finish(result);
}

cudaError_t GetInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                    const cudaGraphEdgeData** edges, std::size_t* count) {
  if (status == nullptr) return Fail(cudaErrorInvalidValue);
  gpu::CaptureInfo info;
  const gpu::Status result = gpu::GetCaptureInfo(stream, &info);
  *status = static_cast<cudaStreamCaptureStatus>(info.status);
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(info.graph);
  if (dependencies != nullptr) {
    *dependencies = reinterpret_cast<const cudaGraphNode_t*>(info.dependencies);
  }
  if (edges != nullptr) *edges = nullptr;  // All edges are plain ones.
  if (count != nullptr) *count = info.dependency_count;
  return Finish(result);
}

cudaError_t UpdateDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                               const cudaGraphEdgeData* /*edges*/, std::size_t count,
                               unsigned flags) {
  if (flags > cudaStreamSetCaptureDependencies) return Fail(cudaErrorInvalidValue);
  return Finish(gpu::UpdateCaptureDependencies(stream, Nodes(dependencies, count),
                                               flags == cudaStreamSetCaptureDependencies));
}

cudaError_t ExchangeMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || *mode > cudaStreamCaptureModeRelaxed) return Fail(cudaErrorInvalidValue);
  const auto old = gpu::ExchangeThreadCaptureMode(static_cast<gpu::CaptureMode>(*mode));
  *mode = static_cast<cudaStreamCaptureMode>(old);
  return cudaSuccess;
}

}  // namespace eidolon::shim::cuda_runtime::capture
