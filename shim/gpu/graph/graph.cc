// Handles are addresses of objects that check a magic number, and nodes live in their graph in the
// order in which they were added, which is the order that queries give. Edges are kept at the later
// node only (`dependencies`), so removing a node has to look at all others, which is rare. A clone
// copies nodes first and edges afterwards, because an edge may lead to a node that comes later in
// the list. Kernel nodes hold their parameters packed, with pointers into that block: a copy of a
// node must point into its own.
#include "shim/gpu/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/launch/idle_parameters.h"
#include "shim/gpu/launch/kernel_work.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {
namespace {

constinit std::atomic<std::uint32_t> next_graph{1};
constinit std::atomic<std::uint64_t> next_node{1};

template <typename Body>
Status Guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

// Copies the nodes of `from` behind those of `to`, which is empty.
void CopyNodes(const Graph& from, Graph& to) {
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : from.nodes) {
    GraphNode& copy = to.Add(node->type, {});
    copies.emplace(node.get(), &copy);
    copy.kind = node->kind;
    copy.id = node->id;
    copy.operations = node->operations;
    copy.content = node->content;
    copy.kernel_pointers = node->kernel_pointers;
    copy.on_replay = node->on_replay;
    copy.priority = node->priority;
    copy.original = node.get();
    if (auto* kernel = std::get_if<KernelNode>(&copy.content)) {
      kernel->pointers.clear();
      for (const cubin::Parameter& parameter : kernel->kernel->parameters) {
        kernel->pointers.push_back(kernel->parameters.data() + parameter.offset);
      }
    }
    if (node->child != nullptr) {
      copy.Adopt(std::make_unique<Graph>());
      CopyNodes(*node->child, *copy.child);
    }
  }
  for (const auto& node : from.nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      copies.at(node.get())->dependencies.push_back(copies.at(dependency));
    }
  }
}

// The packed block of a launch's parameters, as the device would read it.
bool Pack(const Kernel& kernel, const LaunchParameters& from, KernelNode& node) {
  const std::uint32_t bytes = kernel.row->parameter_bytes;
  node.parameters.assign(bytes, std::byte{0});
  if (from.packed != nullptr) {
    if (from.packed_bytes < bytes) return false;
    std::memcpy(node.parameters.data(), from.packed, bytes);
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const cubin::Parameter& parameter = kernel.parameters[i];
    std::byte* to = node.parameters.data() + parameter.offset;
    node.pointers.push_back(to);
    if (from.packed != nullptr) continue;
    if (from.pointers == nullptr || from.pointers[i] == nullptr) return false;
    std::memcpy(to, from.pointers[i], parameter.bytes);
  }
  return true;
}

const char* NameOf(NodeType type) {
  switch (type) {
    case NodeType::kKernel:
      return "KERNEL";
    case NodeType::kMemcpy:
      return "MEMCPY";
    case NodeType::kMemset:
      return "MEMSET";
    case NodeType::kHost:
      return "HOST";
    case NodeType::kGraph:
      return "GRAPH";
    case NodeType::kEmpty:
      return "EMPTY";
    case NodeType::kWaitEvent:
      return "WAIT_EVENT";
    case NodeType::kEventRecord:
      return "EVENT_RECORD";
    case NodeType::kMemoryAllocate:
      return "MEM_ALLOC";
    case NodeType::kMemoryFree:
      return "MEM_FREE";
  }
  return "UNKNOWN";
}

bool AreOwned(const Graph& graph, std::span<GraphNode* const> nodes) {
  return std::ranges::all_of(nodes, [&](const GraphNode* node) { return graph.Owns(node); });
}

// True when `goal` is reached from `start` by following dependencies. An edge from `start` to
// `goal` would then close a circle.
bool Reaches(const GraphNode* start, const GraphNode* goal) {
  std::vector<const GraphNode*> open = {start};
  std::unordered_set<const GraphNode*> seen;
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (node == goal) return true;
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return false;
}

}  // namespace

Graph::Graph() : number(next_graph.fetch_add(1, std::memory_order_relaxed)) {}

GraphNode& Graph::Add(NodeType type, std::span<GraphNode* const> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->number = next_node.fetch_add(1, std::memory_order_relaxed);
  node->type = type;
  node->graph = this;
  for (GraphNode* dependency : dependencies) {
    if (std::ranges::find(node->dependencies, dependency) == node->dependencies.end()) {
      node->dependencies.push_back(dependency);
    }
  }
  nodes.push_back(std::move(node));
  return *nodes.back();
}

void GraphNode::Adopt(std::unique_ptr<Graph> graph_of_node) {
  child = std::move(graph_of_node);
  child->is_child = true;
}

std::size_t Graph::EdgeCount() const {
  std::size_t count = 0;
  for (const auto& node : nodes) count += node->dependencies.size();
  return count;
}

void TellOfNode(GraphNode& node) noexcept {
  core::TellOfResource({.event = core::ResourceEvent::kGraphNodeCreated,
                        .graph = {.graph = node.graph,
                                  .node = &node,
                                  .node_type = static_cast<std::uint32_t>(node.type)}});
}

void TellOfCopies(const Graph& copy, const Graph& original, GraphExec* exec) noexcept {
  if (core::WhoSeesResources() == nullptr) return;
  for (const auto& node : copy.nodes) {
    TellOfNode(*node);
    core::TellOfResource({.event = core::ResourceEvent::kGraphNodeCloned,
                          .graph = {.graph = const_cast<Graph*>(&copy),
                                    .original_graph = const_cast<Graph*>(&original),
                                    .node = node.get(),
                                    .original_node = const_cast<GraphNode*>(node->original),
                                    .node_type = static_cast<std::uint32_t>(node->type),
                                    .exec = exec}});
    if (node->child != nullptr) TellOfCopies(*node->child, *node->original->child, exec);
  }
}

Graph* LookupGraph(void* handle) noexcept { return FromHandle<Graph>(handle); }
GraphNode* LookupNode(void* handle) noexcept { return FromHandle<GraphNode>(handle); }
GraphExec* LookupExec(void* handle) noexcept { return FromHandle<GraphExec>(handle); }

Status CreateGraph(Graph** result) noexcept {
  return Guarded([&] {
    *result = new Graph;
    core::TellOfResource(
        {.event = core::ResourceEvent::kGraphCreated, .graph = {.graph = *result}});
    return Status::kSuccess;
  });
}

Status DestroyGraph(Graph& graph) noexcept {
  if (graph.is_child) return Status::kInvalidValue;
  core::TellOfResource(
      {.event = core::ResourceEvent::kGraphDestroyStarting, .graph = {.graph = &graph}});
  delete &graph;
  return Status::kSuccess;
}

Status CloneGraph(const Graph& graph, Graph** result) noexcept {
  return Guarded([&] {
    auto clone = std::make_unique<Graph>();
    CopyNodes(graph, *clone);
    clone->users.AddAll(graph.users);
    *result = clone.release();
    return Status::kSuccess;
  });
}

Status DestroyNode(GraphNode& node) noexcept {
  Graph& graph = *node.graph;
  core::TellOfResource(
      {.event = core::ResourceEvent::kGraphNodeDestroyStarting,
       .graph = {
           .graph = &graph, .node = &node, .node_type = static_cast<std::uint32_t>(node.type)}});
  for (const auto& other : graph.nodes) std::erase(other->dependencies, &node);
  std::erase_if(graph.nodes, [&](const auto& owned) { return owned.get() == &node; });
  return Status::kSuccess;
}

Status AddDependencies(Graph& graph, std::span<GraphNode* const> from,
                       std::span<GraphNode* const> to) noexcept {
  return Guarded([&] {
    if (!AreOwned(graph, from) || !AreOwned(graph, to)) return Status::kInvalidValue;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (Reaches(from[i], to[i])) return Status::kInvalidValue;
      auto& dependencies = to[i]->dependencies;
      if (std::ranges::find(dependencies, from[i]) != dependencies.end()) {
        return Status::kInvalidValue;
      }
      dependencies.push_back(from[i]);
    }
    return Status::kSuccess;
  });
}

Status RemoveDependencies(Graph& graph, std::span<GraphNode* const> from,
                          std::span<GraphNode* const> to) noexcept {
  if (!AreOwned(graph, from) || !AreOwned(graph, to)) return Status::kInvalidValue;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::erase(to[i]->dependencies, from[i]) == 0) return Status::kInvalidValue;
  }
  return Status::kSuccess;
}

Status PrintGraph(const Graph& graph, const char* path) noexcept {
  return Guarded([&] {
    std::ofstream file(path);
    file << "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_" << graph.number << "\"\n";
    std::unordered_map<const GraphNode*, std::size_t> numbers;
    for (const auto& node : graph.nodes) numbers.emplace(node.get(), numbers.size());
    for (const auto& node : graph.nodes) {
      file << "\"node_" << numbers.at(node.get()) << "\"[label=\"" << NameOf(node->type);
      const auto* kernel = std::get_if<KernelNode>(&node->content);
      if (kernel != nullptr) file << "\\n" << kernel->kernel->name;
      file << "\"];\n";
    }
    for (const auto& node : graph.nodes) {
      for (const GraphNode* dependency : node->dependencies) {
        file << "\"node_" << numbers.at(dependency) << "\" -> \"node_" << numbers.at(node.get())
             << "\";\n";
      }
    }
    file << "}\n}\n";
    file.close();
    return file ? Status::kSuccess : Status::kInvalidValue;
  });
}

Status SetWorkNode(GraphNode& node, std::span<const std::byte> definition,
                   std::function<void()> on_replay) noexcept {
  return Guarded([&] {
    const bool works = !definition.empty();
    const std::uint32_t work = works ? core::Session::Get()->InternWork(definition) : 0;
    if (works && work == 0) return Status::kInvalidValue;
    node.kind = works ? ring::GraphNodeKind::kWork : ring::GraphNodeKind::kEmpty;
    node.id = work;
    node.on_replay = works ? std::move(on_replay) : nullptr;
    return Status::kSuccess;
  });
}

Status SetKernelNode(GraphNode& node, const Kernel& kernel, const LaunchShape& shape,
                     const LaunchParameters& parameters, int device) noexcept {
  return Guarded([&] {
    std::vector<std::uint64_t> pointers;
    const KernelWorkResult found = InternKernel(kernel, shape, parameters, device, &pointers);
    if (found.status != Status::kSuccess) return found.status;
    KernelNode content{
        .kernel = &kernel, .shape = shape, .parameters = {}, .pointers = {}, .read = {}};
    if (!Pack(kernel, parameters, content)) return Status::kInvalidValue;
    content.read = content.parameters;
    IdleParametersOf(kernel).Clear(content.read.data(), shape.grid);
    node.kind = ring::GraphNodeKind::kWork;
    node.id = found.work;
    node.kernel_pointers = std::move(pointers);
    node.content = std::move(content);
    return Status::kSuccess;
  });
}

Status AddKernelNode(Graph& graph, std::span<GraphNode* const> dependencies, const Kernel& kernel,
                     const LaunchShape& shape, const LaunchParameters& parameters,
                     GraphNode** result) noexcept {
  return Guarded([&] {
    const int device = CurrentDevice();
    if (!AreOwned(graph, dependencies)) return Status::kInvalidValue;
    GraphNode& node = graph.Add(NodeType::kKernel, dependencies);
    const Status status = SetKernelNode(node, kernel, shape, parameters, device);
    if (status != Status::kSuccess) {
      graph.nodes.pop_back();
      return status;
    }
    TellOfNode(node);
    *result = &node;
    return Status::kSuccess;
  });
}

}  // namespace eidolon::shim::gpu
