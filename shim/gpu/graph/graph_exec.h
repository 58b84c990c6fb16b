// Executable graphs: instantiation defines the graph in the ring once, launching is one record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/gpu/graph/graph.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {

Status InstantiateGraph(const Graph& graph, std::uint64_t flags, GraphExec** result) noexcept;
Status DestroyExec(GraphExec& exec) noexcept;

// Identifies what operation `index` of a launch of the ring's graph executes: the executable's
// number and its node's. Zeros when that was forgotten: with the executable, unless somebody
// watched.
struct OperationOrigin {
  std::uint32_t exec = 0;
  std::uint64_t node = 0;
};
OperationOrigin OriginOf(std::uint32_t ring_graph, std::uint32_t index) noexcept;
// The number of operations that a launch of the ring's graph executes on the device; 0 when that
// was forgotten.
std::size_t DeviceOperationsOf(std::uint32_t ring_graph) noexcept;

// Launches on a stream; on a capturing stream the graph becomes a child node.
Status LaunchGraph(GraphExec& exec, StreamHandle stream) noexcept;

// Takes over the parameters of a graph of the same shape, child graphs included. Values equal
// CUgraphExecUpdateResult.
enum class UpdateResult : std::uint32_t {
  kSuccess = 0,
  kError = 1,
  kTopologyChanged = 2,
  kNodeTypeChanged = 3,
  kParametersChanged = 6,
};
struct UpdateAnswer {
  UpdateResult result = UpdateResult::kSuccess;
  GraphNode* node = nullptr;  // Of the new graph: where it differs.
};
UpdateAnswer UpdateExec(GraphExec& exec, const Graph& graph) noexcept;

// The exec's own copy of a node of the graph that it was instantiated from, or of a child graph of
// that; nullptr when it has none.
GraphNode* ExecNode(GraphExec& exec, const GraphNode* node) noexcept;
// A node of the exec changed: the next launch defines the graph anew.
void MarkChanged(GraphExec& exec) noexcept;

}  // namespace eidolon::shim::gpu
