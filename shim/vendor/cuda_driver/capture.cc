// The versions of a call share one body, with null for the outputs that an older one lacks. Edges
// carry no data here: a programmatic edge is kept as a plain one, so edge data are passed over on
// the way in, and a null array, which stands for plain edges, comes out.
#include "shim/vendor/cuda_driver/capture.h"

#include <span>

#include "shim/gpu/graph/capture.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::capture {
namespace {

// A node's handle is its address.
std::span<gpu::GraphNode* const> Nodes(const CUgraphNode* nodes, std::size_t count) {
  return {reinterpret_cast<gpu::GraphNode* const*>(nodes), count};
}

}  // namespace

CUresult Begin(CUstream stream, CUstreamCaptureMode mode) {
  return ToResult(gpu::BeginCapture(stream, static_cast<gpu::CaptureMode>(mode)));
}

CUresult BeginGlobal(CUstream stream) { return Begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL); }

CUresult BeginToGraph(CUstream stream, CUgraph handle, const CUgraphNode* dependencies,
                      const CUgraphEdgeData* /*edges*/, std::size_t count,
                      CUstreamCaptureMode mode) {
  gpu::Graph* graph = gpu::LookupGraph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(gpu::BeginCaptureToGraph(stream, *graph, Nodes(dependencies, count),
                                           static_cast<gpu::CaptureMode>(mode)));
}

CUresult End(CUstream stream, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  gpu::Graph* made = nullptr;
  const gpu::Status status = gpu::EndCapture(stream, &made);
  *graph = reinterpret_cast<CUgraph>(made);
  return ToResult(status);
}

CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return GetInfo(stream, status, nullptr);
}

CUresult GetInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return GetInfo2(stream, status, id, nullptr, nullptr, nullptr);
}

CUresult GetInfo2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, std::size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  gpu::CaptureInfo info;
  const gpu::Status result = gpu::GetCaptureInfo(stream, &info);
  *status = static_cast<CUstreamCaptureStatus>(info.status);
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(info.graph);
  if (dependencies != nullptr) {
    *dependencies = reinterpret_cast<const CUgraphNode*>(info.dependencies);
  }
  if (count != nullptr) *count = info.dependency_count;
  return ToResult(result);
}

CUresult GetInfo3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                  std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;  // All edges are plain ones.
  return GetInfo2(stream, status, id, graph, dependencies, count);
}

CUresult UpdateDependencies(CUstream stream, CUgraphNode* dependencies, std::size_t count,
                            unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  return ToResult(gpu::UpdateCaptureDependencies(stream, Nodes(dependencies, count),
                                                 flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
}

CUresult UpdateDependencies2(CUstream stream, CUgraphNode* dependencies,
                             const CUgraphEdgeData* /*edges*/, std::size_t count, unsigned flags) {
  return UpdateDependencies(stream, dependencies, count, flags);
}

CUresult ExchangeMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  const auto old = gpu::ExchangeThreadCaptureMode(static_cast<gpu::CaptureMode>(*mode));
  *mode = static_cast<CUstreamCaptureMode>(old);
  return CUDA_SUCCESS;
}

}  // namespace eidolon::shim::cuda_driver::capture
