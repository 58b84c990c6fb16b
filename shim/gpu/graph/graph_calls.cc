// The runtime and the driver have the same graph calls under different names and error codes, and
// their handles are the same pointers. Each call is written once here, with the vendor's
// parameters, and returns a Status; the faces only translate it. Every handle is looked up before
// its use, for programs pass stale and foreign ones. A new node is filled before its handle is
// given out, and taken out again when that fails, so a refused call adds nothing.
#include "shim/gpu/graph/graph_calls.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "shim/core/resource_observer.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/stream/event.h"

namespace eidolon::shim::gpu::graph_calls {
namespace {

NodeHandle ToHandle(const GraphNode* node) {
  return reinterpret_cast<NodeHandle>(const_cast<GraphNode*>(node));
}
GraphHandle ToHandle(Graph* graph) { return reinterpret_cast<GraphHandle>(graph); }

std::span<GraphNode* const> ToNodes(const NodeHandle* nodes, std::size_t count) {
  return {reinterpret_cast<GraphNode* const*>(nodes), count};
}

// Fills the vendor's array and count.
Status Give(const std::vector<const GraphNode*>& found, NodeHandle* nodes, std::size_t* count) {
  if (count == nullptr) return Status::kInvalidValue;
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < found.size() ? ToHandle(found[i]) : nullptr;
    }
    *count = std::min(*count, found.size());
    return Status::kSuccess;
  }
  *count = found.size();
  return Status::kSuccess;
}

template <typename Accept>
Status GiveNodes(GraphHandle handle, NodeHandle* nodes, std::size_t* count, Accept&& accept) {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr) return Status::kInvalidValue;
  std::vector<const GraphNode*> found;
  for (const auto& node : graph->nodes) {
    if (accept(*node)) found.push_back(node.get());
  }
  return Give(found, nodes, count);
}

GraphNode* LookupTyped(NodeHandle handle, NodeType type) {
  GraphNode* node = LookupNode(handle);
  return node != nullptr && node->type == type ? node : nullptr;
}

Status FillHost(GraphNode& node, void (*function)(void*), void* data) {
  if (function == nullptr) return Status::kInvalidValue;
  node.kind = ring::GraphNodeKind::kHostCallback;
  node.content = HostNode{function, data};
  return Status::kSuccess;
}

Status FillEvent(GraphNode& node, CUevent_st* handle) {
  Event* event = LookupEvent(handle);
  if (event == nullptr) return Status::kInvalidHandle;
  if (node.type == NodeType::kEventRecord) {
    node.kind = ring::GraphNodeKind::kEventRecord;
    node.on_replay = [event] { event->recorded.store(true, std::memory_order_release); };
  } else if (node.type == NodeType::kWaitEvent) {
    node.kind = ring::GraphNodeKind::kEventWait;
  } else {
    return Status::kInvalidValue;
  }
  node.id = event->id;
  node.content = EventNode{event};
  return Status::kSuccess;
}

Status FillChild(GraphNode& node, GraphHandle handle) {
  const Graph* child = LookupGraph(handle);
  if (child == nullptr || child == node.graph) return Status::kInvalidValue;
  Graph* copy = nullptr;
  const Status status = CloneGraph(*child, &copy);
  if (status == Status::kSuccess) node.Adopt(std::unique_ptr<Graph>(copy));
  return status;
}

// The graph's own nodes, which keep their handles.
Status MoveChild(GraphNode& node, GraphHandle handle) {
  Graph* child = LookupGraph(handle);
  if (child == nullptr || child == node.graph || child->is_child) return Status::kInvalidValue;
  node.Adopt(std::unique_ptr<Graph>(child));
  return Status::kSuccess;
}

}  // namespace

Status AddNode(NodeHandle* result, GraphHandle handle, const NodeHandle* dependencies,
               std::size_t count, NodeType type, const FillNode& fill) noexcept {
  try {
    Graph* graph = LookupGraph(handle);
    if (graph == nullptr || result == nullptr || (count != 0 && dependencies == nullptr)) {
      return Status::kInvalidValue;
    }
    const auto nodes = ToNodes(dependencies, count);
    if (!std::ranges::all_of(nodes, [&](const GraphNode* node) { return graph->Owns(node); })) {
      return Status::kInvalidValue;
    }
    GraphNode& node = graph->Add(type, nodes);
    if (const Status status = fill(node); status != Status::kSuccess) {
      graph->nodes.pop_back();
      return status;
    }
    TellOfNode(node);
    *result = ToHandle(&node);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status ChangeExec(ExecHandle handle, NodeHandle node, const FillNode& change) noexcept {
  GraphExec* exec = LookupExec(handle);
  if (exec == nullptr || LookupNode(node) == nullptr) return Status::kInvalidValue;
  GraphNode* copy = ExecNode(*exec, LookupNode(node));
  if (copy == nullptr) return Status::kInvalidValue;
  const Status status = change(*copy);
  if (status == Status::kSuccess) MarkChanged(*exec);
  return status;
}

Status Create(GraphHandle* graph, unsigned flags) noexcept {
  if (graph == nullptr || flags != 0) return Status::kInvalidValue;
  Graph* made = nullptr;
  const Status status = CreateGraph(&made);
  *graph = ToHandle(made);
  return status;
}

Status Destroy(GraphHandle handle) noexcept {
  Graph* graph = LookupGraph(handle);
  return graph == nullptr ? Status::kInvalidValue : DestroyGraph(*graph);
}

Status Clone(GraphHandle* clone, GraphHandle handle) noexcept {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr || clone == nullptr) return Status::kInvalidValue;
  Graph* made = nullptr;
  const Status status = CloneGraph(*graph, &made);
  *clone = ToHandle(made);
  if (status == Status::kSuccess) {
    core::TellOfResource({.event = core::ResourceEvent::kGraphCloned,
                          .graph = {.graph = made, .original_graph = const_cast<Graph*>(graph)}});
    TellOfCopies(*made, *graph, nullptr);
  }
  return status;
}

Status GetId(GraphHandle handle, unsigned* id) noexcept {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr || id == nullptr) return Status::kInvalidValue;
  *id = graph->number;
  return Status::kSuccess;
}

Status DebugDotPrint(GraphHandle handle, const char* path, unsigned /*flags*/) noexcept {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr || path == nullptr) return Status::kInvalidValue;
  return PrintGraph(*graph, path);
}

Status GetNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept {
  return GiveNodes(graph, nodes, count, [](const GraphNode&) { return true; });
}

Status GetRootNodes(GraphHandle graph, NodeHandle* nodes, std::size_t* count) noexcept {
  return GiveNodes(graph, nodes, count,
                   [](const GraphNode& node) { return node.dependencies.empty(); });
}

Status GetEdges(GraphHandle handle, NodeHandle* from, NodeHandle* to, std::size_t* count) noexcept {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr || count == nullptr) return Status::kInvalidValue;
  if ((from == nullptr) != (to == nullptr)) return Status::kInvalidValue;
  const std::size_t room = from == nullptr ? 0 : *count;
  std::size_t found = 0;
  for (const auto& node : graph->nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      if (found < room) {
        from[found] = ToHandle(dependency);
        to[found] = ToHandle(node.get());
      }
      ++found;
    }
  }
  *count = from == nullptr ? found : std::min(found, room);
  return Status::kSuccess;
}

Status GetDependencies(NodeHandle handle, NodeHandle* nodes, std::size_t* count) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr) return Status::kInvalidValue;
  return Give({node->dependencies.begin(), node->dependencies.end()}, nodes, count);
}

Status GetDependentNodes(NodeHandle handle, NodeHandle* nodes, std::size_t* count) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr) return Status::kInvalidValue;
  return GiveNodes(ToHandle(node->graph), nodes, count, [&](const GraphNode& other) {
    return std::ranges::find(other.dependencies, node) != other.dependencies.end();
  });
}

bool IsEdge(unsigned from_port, unsigned to_port, unsigned type) noexcept {
  constexpr unsigned kProgrammatic = 1;
  constexpr unsigned kLaunchOrderPort = 2;  // The last of a kernel's ports.
  if (to_port != 0) return false;
  return type == kProgrammatic ? from_port != 0 && from_port <= kLaunchOrderPort
                               : type == 0 && from_port == 0;
}

Status AddEdges(GraphHandle handle, const NodeHandle* from, const NodeHandle* to,
                std::size_t count) noexcept {
  Graph* graph = LookupGraph(handle);
  if (graph == nullptr) return Status::kInvalidValue;
  return AddDependencies(*graph, ToNodes(from, count), ToNodes(to, count));
}

Status RemoveEdges(GraphHandle handle, const NodeHandle* from, const NodeHandle* to,
                   std::size_t count) noexcept {
  Graph* graph = LookupGraph(handle);
  if (graph == nullptr) return Status::kInvalidValue;
  return RemoveDependencies(*graph, ToNodes(from, count), ToNodes(to, count));
}

Status DestroyNodeHandle(NodeHandle handle) noexcept {
  GraphNode* node = LookupNode(handle);
  return node == nullptr ? Status::kInvalidValue : DestroyNode(*node);
}

Status FindInClone(NodeHandle* found, NodeHandle original, GraphHandle handle) noexcept {
  const Graph* clone = LookupGraph(handle);
  if (clone == nullptr || found == nullptr) return Status::kInvalidValue;
  for (const auto& node : clone->nodes) {
    if (ToHandle(node->original) != original) continue;
    *found = ToHandle(node.get());
    return Status::kSuccess;
  }
  return Status::kInvalidValue;
}

Status GetContainingGraph(NodeHandle handle, GraphHandle* graph) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr || graph == nullptr) return Status::kInvalidValue;
  *graph = ToHandle(node->graph);
  return Status::kSuccess;
}

Status GetLocalId(NodeHandle handle, unsigned* id) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr || id == nullptr) return Status::kInvalidValue;
  const auto& nodes = node->graph->nodes;
  *id = static_cast<unsigned>(
      std::ranges::find(nodes, node, [](const auto& owned) { return owned.get(); }) -
      nodes.begin());
  return Status::kSuccess;
}

Status GetType(NodeHandle handle, std::uint32_t* type) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr || type == nullptr) return Status::kInvalidValue;
  *type = static_cast<std::uint32_t>(node->type);
  return Status::kSuccess;
}

Status AddEmpty(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                std::size_t count) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kEmpty,
                 [](GraphNode&) { return Status::kSuccess; });
}

Status AddChild(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                std::size_t count, GraphHandle child) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kGraph,
                 [&](GraphNode& made) { return FillChild(made, child); });
}

Status AddMovedChild(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                     std::size_t count, GraphHandle child) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kGraph,
                 [&](GraphNode& made) { return MoveChild(made, child); });
}

Status GetChild(NodeHandle handle, GraphHandle* child) noexcept {
  const GraphNode* node = LookupTyped(handle, NodeType::kGraph);
  if (node == nullptr || child == nullptr) return Status::kInvalidValue;
  *child = ToHandle(node->child.get());
  return Status::kSuccess;
}

Status AddHost(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
               std::size_t count, void (*function)(void*), void* data) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kHost,
                 [&](GraphNode& made) { return FillHost(made, function, data); });
}

Status GetHost(NodeHandle handle, void (**function)(void*), void** data) noexcept {
  const GraphNode* node = LookupTyped(handle, NodeType::kHost);
  if (node == nullptr) return Status::kInvalidValue;
  const auto& host = std::get<HostNode>(node->content);
  *function = host.function;
  *data = host.data;
  return Status::kSuccess;
}

Status SetHost(NodeHandle handle, void (*function)(void*), void* data) noexcept {
  GraphNode* node = LookupTyped(handle, NodeType::kHost);
  return node == nullptr ? Status::kInvalidValue : FillHost(*node, function, data);
}

Status AddEventRecord(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                      std::size_t count, CUevent_st* event) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kEventRecord,
                 [&](GraphNode& made) { return FillEvent(made, event); });
}

Status AddEventWait(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies,
                    std::size_t count, CUevent_st* event) noexcept {
  return AddNode(node, graph, dependencies, count, NodeType::kWaitEvent,
                 [&](GraphNode& made) { return FillEvent(made, event); });
}

Status SetEvent(NodeHandle handle, CUevent_st* event) noexcept {
  GraphNode* node = LookupNode(handle);
  return node == nullptr ? Status::kInvalidValue : FillEvent(*node, event);
}

Status GetEvent(NodeHandle handle, CUevent_st** event) noexcept {
  const GraphNode* node = LookupNode(handle);
  if (node == nullptr || event == nullptr) return Status::kInvalidValue;
  const auto* content = std::get_if<EventNode>(&node->content);
  if (content == nullptr) return Status::kInvalidValue;
  *event = reinterpret_cast<CUevent_st*>(content->event);
  return Status::kSuccess;
}

Status Instantiate(ExecHandle* result, GraphHandle handle, unsigned long long flags) noexcept {
  const Graph* graph = LookupGraph(handle);
  if (graph == nullptr || graph->is_child || result == nullptr) return Status::kInvalidValue;
  GraphExec* exec = nullptr;
  const Status status = InstantiateGraph(*graph, flags, &exec);
  *result = reinterpret_cast<ExecHandle>(exec);
  return status;
}

Status DestroyExecHandle(ExecHandle handle) noexcept {
  GraphExec* exec = LookupExec(handle);
  return exec == nullptr ? Status::kInvalidValue : DestroyExec(*exec);
}

Status Launch(ExecHandle handle, CUstream_st* stream) noexcept {
  GraphExec* exec = LookupExec(handle);
  return exec == nullptr ? Status::kInvalidValue : LaunchGraph(*exec, stream);
}

// Instantiation told the engine everything already.
Status Upload(ExecHandle handle, CUstream_st* /*stream*/) noexcept {
  return LookupExec(handle) == nullptr ? Status::kInvalidValue : Status::kSuccess;
}

Status GetExecFlags(ExecHandle handle, unsigned long long* flags) noexcept {
  const GraphExec* exec = LookupExec(handle);
  if (exec == nullptr || flags == nullptr) return Status::kInvalidValue;
  *flags = exec->flags;
  return Status::kSuccess;
}

Status GetExecId(ExecHandle handle, unsigned* id) noexcept {
  const GraphExec* exec = LookupExec(handle);
  if (exec == nullptr || id == nullptr) return Status::kInvalidValue;
  *id = exec->number;
  return Status::kSuccess;
}

Status Update(ExecHandle handle, GraphHandle graph_handle, std::uint32_t* result,
              NodeHandle* node) noexcept {
  GraphExec* exec = LookupExec(handle);
  const Graph* graph = LookupGraph(graph_handle);
  if (exec == nullptr || graph == nullptr) return Status::kInvalidValue;
  const UpdateAnswer answer = UpdateExec(*exec, *graph);
  *result = static_cast<std::uint32_t>(answer.result);
  *node = ToHandle(answer.node);
  return answer.result == UpdateResult::kSuccess ? Status::kSuccess
                                                 : Status::kGraphExecUpdateFailure;
}

Status SetExecHost(ExecHandle exec, NodeHandle node, void (*function)(void*), void* data) noexcept {
  return ChangeExec(exec, node, [&](GraphNode& copy) { return FillHost(copy, function, data); });
}

Status SetExecEvent(ExecHandle exec, NodeHandle node, CUevent_st* event) noexcept {
  return ChangeExec(exec, node, [&](GraphNode& copy) { return FillEvent(copy, event); });
}

Status SetExecChild(ExecHandle exec, NodeHandle node, GraphHandle child) noexcept {
  return ChangeExec(exec, node, [&](GraphNode& copy) { return FillChild(copy, child); });
}

Status CreateObject(UserObjectHandle* object, void* data, void (*destroy)(void*),
                    unsigned references, unsigned flags) noexcept {
  constexpr unsigned kNoDestructorSync = 1;  // The only flag, and required.
  if (object == nullptr || flags != kNoDestructorSync) return Status::kInvalidValue;
  UserObject* made = nullptr;
  const Status status = CreateUserObject(data, destroy, references, &made);
  *object = reinterpret_cast<UserObjectHandle>(made);
  return status;
}

Status RetainObject(UserObjectHandle handle, unsigned count) noexcept {
  UserObject* object = LookupUserObject(handle);
  return object == nullptr ? Status::kInvalidValue : RetainUserObject(*object, count);
}

Status ReleaseObject(UserObjectHandle handle, unsigned count) noexcept {
  UserObject* object = LookupUserObject(handle);
  return object == nullptr ? Status::kInvalidValue : ReleaseUserObject(*object, count);
}

Status RetainInGraph(GraphHandle graph_handle, UserObjectHandle handle, unsigned count,
                     unsigned flags) noexcept {
  constexpr unsigned kMove = 1;
  Graph* graph = LookupGraph(graph_handle);
  UserObject* object = LookupUserObject(handle);
  if (graph == nullptr || object == nullptr || flags > kMove) return Status::kInvalidValue;
  return graph->users.Add(*object, count, flags == kMove);
}

Status ReleaseInGraph(GraphHandle graph_handle, UserObjectHandle handle, unsigned count) noexcept {
  Graph* graph = LookupGraph(graph_handle);
  UserObject* object = LookupUserObject(handle);
  if (graph == nullptr || object == nullptr) return Status::kInvalidValue;
  return graph->users.Remove(*object, count);
}

}  // namespace eidolon::shim::gpu::graph_calls
