// The graph calls that the runtime and the driver share: handles are the same pointers in both, so
// each face only turns the status into its own code. Parameters are the vendor's, in the vendor's
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "shim/gpu/graph/graph.h"
#include "shim/gpu/status.h"

// The vendor's handle types, declared by both of its headers.
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUuserObject_st;
struct CUstream_st;
struct CUevent_st;

namespace eidolon::shim::gpu::graph_calls {

using GraphHandle = CUgraph_st*;
using NodeHandle = CUgraphNode_st*;
using ExecHandle = CUgraphExec_st*;
using UserObjectHandle = CUuserObject_st*;

Status Create(GraphHandle* graph, unsigned flags) noexcept;
Status Destroy(GraphHandle graph) noexcept;
Status Clone(GraphHandle* clone, GraphHandle graph) noexcept;
Status GetId(GraphHandle graph, unsigned* id) noexcept;
Status DebugDotPrint(GraphHandle graph, const char* path, unsigned flags) noexcept;

// Questions about shape. A null array asks for the count only; as much is filled as the count
// allows.
Status GetNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept;
Status GetRootNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept;
Status GetEdges(GraphHandle graph, NodeHandle* from, NodeHandle* to, std::size_t* count) noexcept;
Status GetDependencies(NodeHandle node, NodeHandle* nodes, std::size_t* count) noexcept;
Status GetDependentNodes(NodeHandle node, NodeHandle* nodes, std::size_t* count) noexcept;
Status AddEdges(GraphHandle graph, const NodeHandle* from, const NodeHandle* to,
                std::size_t count) noexcept;
// Returns whether there is an edge of these ports and this type. A programmatic one, by which a
// kernel may start before its predecessor ends, counts as plain: as in a stream, the kernel starts
// behind it. What it would have done meanwhile (set up, and wait) is lost; in a graph there is no
// gap to save.
bool IsEdge(unsigned from_port, unsigned to_port, unsigned type) noexcept;
Status RemoveEdges(GraphHandle graph, const NodeHandle* from, const NodeHandle* to,
                   std::size_t count) noexcept;

Status DestroyNodeHandle(NodeHandle node) noexcept;
Status FindInClone(NodeHandle* found, NodeHandle original, GraphHandle clone) noexcept;
Status GetContainingGraph(NodeHandle node, GraphHandle* graph) noexcept;
Status GetLocalId(NodeHandle node, unsigned* id) noexcept;
Status GetType(NodeHandle node, std::uint32_t* type) noexcept;

// Nodes of the vendor's structures: `fill` sets up a new node, or changes the exec's copy of one,
// which the next launch uses.
using FillNode = std::function<Status(GraphNode&)>;
Status AddNode(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
               std::size_t count, NodeType type, const FillNode& fill) noexcept;
Status ChangeExec(ExecHandle exec, NodeHandle node, const FillNode& change) noexcept;

Status AddEmpty(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                std::size_t count) noexcept;
Status AddChild(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                std::size_t count, GraphHandle child) noexcept;
// Takes the graph itself, whose handle and nodes then belong to the node.
Status AddMovedChild(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                     std::size_t count, GraphHandle child) noexcept;
Status GetChild(NodeHandle node, GraphHandle* child) noexcept;
Status AddHost(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
               std::size_t count, void (*function)(void*), void* data) noexcept;
Status GetHost(NodeHandle node, void (**function)(void*), void** data) noexcept;
Status SetHost(NodeHandle node, void (*function)(void*), void* data) noexcept;
Status AddEventRecord(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                      std::size_t count, CUevent_st* event) noexcept;
Status AddEventWait(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                    std::size_t count, CUevent_st* event) noexcept;
Status SetEvent(NodeHandle node, CUevent_st* event) noexcept;
Status GetEvent(NodeHandle node, CUevent_st** event) noexcept;

Status Instantiate(ExecHandle* exec, GraphHandle graph, unsigned long long flags) noexcept;
Status DestroyExecHandle(ExecHandle exec) noexcept;
Status Launch(ExecHandle exec, CUstream_st* stream) noexcept;
Status Upload(ExecHandle exec, CUstream_st* stream) noexcept;
Status GetExecFlags(ExecHandle exec, unsigned long long* flags) noexcept;
Status GetExecId(ExecHandle exec, unsigned* id) noexcept;
// kGraphExecUpdateFailure, with the vendor's reason and the node that differs, when shapes differ.
Status Update(ExecHandle exec, GraphHandle graph, std::uint32_t* result, NodeHandle* node) noexcept;
Status SetExecHost(ExecHandle exec, NodeHandle node, void (*function)(void*), void* data) noexcept;
Status SetExecEvent(ExecHandle exec, NodeHandle node, CUevent_st* event) noexcept;
Status SetExecChild(ExecHandle exec, NodeHandle node, GraphHandle child) noexcept;

Status CreateObject(UserObjectHandle* object, void* data, void (*destroy)(void*),
                    unsigned references, unsigned flags) noexcept;
Status RetainObject(UserObjectHandle object, unsigned count) noexcept;
Status ReleaseObject(UserObjectHandle object, unsigned count) noexcept;
Status RetainInGraph(GraphHandle graph, UserObjectHandle object, unsigned count,
                     unsigned flags) noexcept;
Status ReleaseInGraph(GraphHandle graph, UserObjectHandle object, unsigned count) noexcept;

}  // namespace eidolon::shim::gpu::graph_calls
