// An executable graph is a copy of its own, because the program may change or destroy the original.
// It is defined in the ring once, with child graphs opened up and each node behind its
// dependencies, and a launch is then one record whatever the graph's size. `ring_graph` is zero
// when that definition is out of date, after a change of a node or for another device, and the next
// launch defines it anew. Copies remember the node they were made from (`original`), by which calls
// that name the original's nodes find those of the executable. An update therefore keeps the old
// originals and numbers.
//
// What a launch does on the host (values, host functions) is repeated here in the order of the
// definition.
#include "shim/gpu/graph/graph_exec.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "shim/core/call_observer.h"
#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/launch/launch_values.h"
#include "shim/gpu/stream/callback.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/event.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {
namespace {

// A graph with child graphs opened up, in an order in which dependencies come first.
struct FlatGraph {
  std::vector<const GraphNode*> nodes;
  std::vector<std::vector<std::uint32_t>> dependencies;
};

// The nodes so that each comes behind its dependencies, otherwise as they were added.
std::vector<const GraphNode*> Ordered(const Graph& graph) {
  std::unordered_map<const GraphNode*, std::size_t> missing;
  std::unordered_map<const GraphNode*, std::vector<const GraphNode*>> dependents;
  for (const auto& node : graph.nodes) {
    missing[node.get()] = node->dependencies.size();
    for (const GraphNode* dependency : node->dependencies) {
      dependents[dependency].push_back(node.get());
    }
  }
  std::vector<const GraphNode*> order;
  for (const auto& node : graph.nodes) {
    if (node->dependencies.empty()) order.push_back(node.get());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const GraphNode* next : dependents[order[i]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

// Appends `graph` behind the flat nodes `before`; returns the flat nodes that nothing else of it
// follows.
std::vector<std::uint32_t> Flatten(const Graph& graph, const std::vector<std::uint32_t>& before,
                                   FlatGraph& flat) {
  std::unordered_map<const GraphNode*, std::vector<std::uint32_t>> ends;
  std::unordered_map<const GraphNode*, bool> followed;
  for (const GraphNode* node : Ordered(graph)) {
    std::vector<std::uint32_t> dependencies;
    if (node->dependencies.empty()) dependencies = before;
    for (const GraphNode* dependency : node->dependencies) {
      followed[dependency] = true;
      const auto& end = ends.at(dependency);
      dependencies.insert(dependencies.end(), end.begin(), end.end());
    }
    if (node->child != nullptr && !node->child->nodes.empty()) {
      ends[node] = Flatten(*node->child, dependencies, flat);
      continue;
    }
    ends[node] = {static_cast<std::uint32_t>(flat.nodes.size())};
    flat.nodes.push_back(node);
    flat.dependencies.push_back(std::move(dependencies));
  }
  std::vector<std::uint32_t> last;
  for (const auto& node : graph.nodes) {
    if (followed[node.get()]) continue;
    const auto& end = ends.at(node.get());
    last.insert(last.end(), end.begin(), end.end());
  }
  return last;
}

// The nodes behind the operations of each graph that the ring knows. Thread safe.
class Origins {
 public:
  void Add(std::uint32_t ring_graph, std::uint32_t exec, const FlatGraph& flat) {
    Entry entry{.exec = exec, .nodes = {}};
    for (const GraphNode* node : flat.nodes) {
      const bool on_device = node->kind == ring::GraphNodeKind::kWork ||
                             node->kind == ring::GraphNodeKind::kCommunication;
      if (on_device) entry.on_device += node->operations;
      if (on_device || node->kind == ring::GraphNodeKind::kHostCallback) {
        entry.nodes.insert(entry.nodes.end(), node->operations, node->number);
      }
    }
    const std::lock_guard guard(mutex_);
    all_[ring_graph] = std::move(entry);
  }
  void Remove(std::uint32_t ring_graph) noexcept {
    if (core::Observer() != nullptr) return;  // Who asks later still wants to know.
    const std::lock_guard guard(mutex_);
    all_.erase(ring_graph);
  }
  OperationOrigin Find(std::uint32_t ring_graph, std::uint32_t index) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(ring_graph);
    if (found == all_.end() || index >= found->second.nodes.size()) return {};
    return {.exec = found->second.exec, .node = found->second.nodes[index]};
  }
  std::size_t CountOnDevice(std::uint32_t ring_graph) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(ring_graph);
    return found == all_.end() ? 0 : found->second.on_device;
  }

 private:
  struct Entry {
    std::uint32_t exec = 0;
    std::vector<std::uint64_t> nodes;  // By operation.
    std::size_t on_device = 0;         // Of these operations, all but host functions.
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> all_;
};

Origins& AllOrigins() {
  static Origins& origins = *new Origins;  // Never destroyed: threads may outlive main.
  return origins;
}

template <typename T>
std::span<const std::byte> AsBytes(const std::vector<T>& items) {
  return std::as_bytes(std::span(items));
}

// Requires: exec.mutex held, or exec unknown to others.
Status Define(core::Session& session, GraphExec& exec, int device) {
  FlatGraph flat;
  Flatten(*exec.graph, {}, flat);
  std::vector<ring::GraphNode> nodes;
  std::vector<std::uint32_t> dependencies;
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    const GraphNode& node = *flat.nodes[i];
    const bool host = node.kind == ring::GraphNodeKind::kHostCallback;
    nodes.push_back({.kind = node.kind,
                     .id = host ? NewCallbackId() : node.id,
                     .first_dependency = static_cast<std::uint32_t>(dependencies.size()),
                     .dependency_count = static_cast<std::uint32_t>(flat.dependencies[i].size())});
    dependencies.insert(dependencies.end(), flat.dependencies[i].begin(),
                        flat.dependencies[i].end());
  }
  ring::GraphDefine record{};
  record.header.kind = ring::RecordKind::kGraphDefine;
  record.header.device = RingDevice(device);
  record.graph = session.NewId();
  record.node_count = static_cast<std::uint32_t>(nodes.size());
  record.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  const std::array tail = {AsBytes(nodes), AsBytes(dependencies)};
  if (sizeof(record) + tail[0].size() + tail[1].size() + 8 > ring::kMaxRecordBytes) {
    return Status::kNotSupported;
  }
  session.Append(&record.header, sizeof(record), tail);
  AllOrigins().Add(record.graph, exec.number, flat);
  exec.ring_graph = record.graph;
  exec.device = device;
  exec.order = std::move(flat.nodes);
  return Status::kSuccess;
}

void Forget(core::Session& session, std::uint32_t ring_graph) {
  if (ring_graph == 0) return;
  AllOrigins().Remove(ring_graph);
  ring::GraphRecord record{};
  record.header.kind = ring::RecordKind::kGraphDestroy;
  record.graph = ring_graph;
  core::Append(session, record);
}

// What the launch does on the host: known values move, host functions follow.
Status Replay(const GraphExec& exec, Stream& stream) {
  for (const GraphNode* node : exec.order) {
    const auto* kernel = std::get_if<KernelNode>(&node->content);
    if (kernel != nullptr && MustRecord()) {
      RecordLaunch(*kernel->kernel, exec.device, kernel->shape, node->id,
                   std::span<const std::byte>(kernel->read));
    } else if (kernel != nullptr) {
      LaunchNote note(*kernel->kernel);
      for (const std::uint64_t pointer : node->kernel_pointers) note.Add(pointer);
    }
    if (node->on_replay) node->on_replay();
    const auto* host = std::get_if<HostNode>(&node->content);
    if (host == nullptr || node->type != NodeType::kHost) continue;
    const Status status = EnqueueGraphCallback(stream, host->function, host->data);
    if (status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

// The copy of `node` in `graph` or a child graph of it.
GraphNode* CopyOf(const GraphNode* node, const Graph& graph) {
  for (const auto& owned : graph.nodes) {
    if (owned->original == node) return owned.get();
    if (owned->child == nullptr) continue;
    if (GraphNode* found = CopyOf(node, *owned->child); found != nullptr) return found;
  }
  return nullptr;
}

// Compares the nodes and edges of two graphs and of their child graphs.
UpdateAnswer CompareShapes(const Graph& old_graph, const Graph& new_graph) {
  const auto& old_nodes = old_graph.nodes;
  const auto& new_nodes = new_graph.nodes;
  if (old_nodes.size() != new_nodes.size()) return {UpdateResult::kTopologyChanged, nullptr};
  std::unordered_map<const GraphNode*, std::size_t> old_numbers;
  std::unordered_map<const GraphNode*, std::size_t> new_numbers;
  for (std::size_t i = 0; i < old_nodes.size(); ++i) {
    old_numbers.emplace(old_nodes[i].get(), i);
    new_numbers.emplace(new_nodes[i].get(), i);
  }
  for (std::size_t i = 0; i < old_nodes.size(); ++i) {
    const GraphNode& before = *old_nodes[i];
    GraphNode& after = *new_nodes[i];
    if (before.type != after.type) return {UpdateResult::kNodeTypeChanged, &after};
    const bool same_edges = std::ranges::equal(before.dependencies, after.dependencies,
                                               [&](const GraphNode* a, const GraphNode* b) {
                                                 return old_numbers.at(a) == new_numbers.at(b);
                                               });
    if (!same_edges) return {UpdateResult::kTopologyChanged, &after};
    if ((before.child == nullptr) != (after.child == nullptr)) {
      return {UpdateResult::kTopologyChanged, &after};
    }
    if (before.child == nullptr) continue;
    UpdateAnswer inner = CompareShapes(*before.child, *after.child);
    if (inner.result == UpdateResult::kSuccess) continue;
    if (inner.node == nullptr) inner.node = &after;
    return inner;
  }
  return {};
}

// Nodes of the graph that was instantiated name nodes of the executable, which keep their numbers
// in an update. Requires: the graphs have one shape.
void TakeIdentities(Graph& copy, const Graph& before) {
  for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
    copy.nodes[i]->original = before.nodes[i]->original;
    copy.nodes[i]->number = before.nodes[i]->number;
    if (copy.nodes[i]->child != nullptr) {
      TakeIdentities(*copy.nodes[i]->child, *before.nodes[i]->child);
    }
  }
}

}  // namespace

Status InstantiateGraph(const Graph& graph, std::uint64_t flags, GraphExec** result) noexcept {
  try {
    core::Session* session = core::Session::Get();
    if (session == nullptr) return Status::kNoDevice;
    auto* const original = const_cast<Graph*>(&graph);
    core::TellOfResource(
        {.event = core::ResourceEvent::kGraphExecCreateStarting, .graph = {.graph = original}});
    Graph* copy = nullptr;
    if (const Status status = CloneGraph(graph, &copy); status != Status::kSuccess) return status;
    auto exec = std::make_unique<GraphExec>();
    exec->graph.reset(copy);
    exec->number = copy->number;
    exec->flags = flags;
    // Nobody else knows it yet, so its mutex need not be held.
    if (const Status status = Define(*session, *exec, CurrentDevice()); status != Status::kSuccess)
      return status;
    *result = exec.release();
    TellOfCopies(*copy, graph, *result);
    core::TellOfResource({.event = core::ResourceEvent::kGraphExecCreated,
                          .graph = {.graph = copy, .exec = *result}});
  } catch (...) {
    return Status::kOutOfMemory;
  }
  return Status::kSuccess;
}

OperationOrigin OriginOf(std::uint32_t ring_graph, std::uint32_t index) noexcept {
  return AllOrigins().Find(ring_graph, index);
}

std::size_t DeviceOperationsOf(std::uint32_t ring_graph) noexcept {
  return AllOrigins().CountOnDevice(ring_graph);
}

Status DestroyExec(GraphExec& exec) noexcept {
  core::TellOfResource({.event = core::ResourceEvent::kGraphExecDestroyStarting,
                        .graph = {.graph = exec.graph.get(), .exec = &exec}});
  if (core::Session* session = core::Session::Existing()) Forget(*session, exec.ring_graph);
  delete &exec;
  return Status::kSuccess;
}

Status LaunchGraph(GraphExec& exec, StreamHandle handle) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureChildGraph(*stream, *exec.graph);
  }
  if (const Status status = CheckLegacyStreamUse(*stream); status != Status::kSuccess)
    return status;
  try {
    core::Session* session = core::Session::Get();
    if (session == nullptr) return Status::kNoDevice;
    const std::lock_guard guard(exec.mutex);
    // Work runs on the device of the stream, whatever device was current when the graph was made.
    if (exec.ring_graph != 0 && exec.device != stream->device) {
      Forget(*session, std::exchange(exec.ring_graph, 0));
    }
    if (exec.ring_graph == 0) {
      if (const Status status = Define(*session, exec, stream->device); status != Status::kSuccess)
        return status;
    }
    ring::GraphRecord record{};
    record.header.kind = ring::RecordKind::kGraphLaunch;
    record.header.device = RingDevice(stream->device);
    record.stream = stream->id;
    record.graph = exec.ring_graph;
    stream->issued.fetch_add(1, std::memory_order_relaxed);
    core::Append(*session, record);
    return Replay(exec, *stream);
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

UpdateAnswer UpdateExec(GraphExec& exec, const Graph& graph) noexcept {
  try {
    const UpdateAnswer answer = CompareShapes(*exec.graph, graph);
    if (answer.result != UpdateResult::kSuccess) return answer;
  } catch (...) {
    return {UpdateResult::kError, nullptr};
  }
  Graph* copy = nullptr;
  if (CloneGraph(graph, &copy) != Status::kSuccess) return {UpdateResult::kError, nullptr};
  copy->number = exec.number;
  TakeIdentities(*copy, *exec.graph);
  MarkChanged(exec);
  const std::lock_guard guard(exec.mutex);
  exec.order.clear();
  exec.graph.reset(copy);
  return {};
}

GraphNode* ExecNode(GraphExec& exec, const GraphNode* node) noexcept {
  return CopyOf(node, *exec.graph);
}

void MarkChanged(GraphExec& exec) noexcept {
  const std::lock_guard guard(exec.mutex);
  if (core::Session* session = core::Session::Existing()) Forget(*session, exec.ring_graph);
  exec.ring_graph = 0;
}

}  // namespace eidolon::shim::gpu
