// Stream capture: operations on capturing streams become nodes of a graph. A capture begins on one
// stream and spreads to others that wait for its events; the hooks are in capture_hooks.h.
//
// All captures are guarded by one mutex: capturing is not a hot path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shim/gpu/graph/capture_mode.h"
#include "shim/gpu/graph/graph.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {

Status BeginCapture(StreamHandle stream, CaptureMode mode) noexcept;
// Captures into a graph that exists, its first operations behind `dependencies`.
Status BeginCaptureToGraph(StreamHandle stream, Graph& graph,
                           std::span<GraphNode* const> dependencies, CaptureMode mode) noexcept;
// The graph, which then belongs to the caller; *graph is null on failure. The capture ends either
// way, unless the stream is not the one that began it.
Status EndCapture(StreamHandle stream, Graph** graph) noexcept;
// Sets the calling thread's mode for unsafe calls and returns the old one.
CaptureMode ExchangeThreadCaptureMode(CaptureMode mode) noexcept;

struct CaptureInfo {
  CaptureStatus status = CaptureStatus::kNone;
  std::uint64_t id = 0;
  Graph* graph = nullptr;
  // Nodes that the next operation will depend on; valid until the stream's next operation.
  GraphNode* const* dependencies = nullptr;
  std::size_t dependency_count = 0;
};
Status GetCaptureInfo(StreamHandle stream, CaptureInfo* info) noexcept;
// Adds to, or replaces, what the next operation will depend on.
Status UpdateCaptureDependencies(StreamHandle stream, std::span<GraphNode* const> dependencies,
                                 bool replace) noexcept;

}  // namespace eidolon::shim::gpu
