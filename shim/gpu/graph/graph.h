// CUDA graphs: nodes with dependencies, made by capture or node by node, and their executable form.
// CUgraph, CUgraphNode and CUgraphExec are the addresses of Graph, GraphNode and GraphExec.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "services/contract/ring/record.h"
#include "shim/core/recycled.h"
#include "shim/gpu/graph/user_object.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

struct Event;
struct Graph;
struct Stream;

// Values equal CUgraphNodeType.
enum class NodeType : std::uint32_t {
  kKernel = 0,
  kMemcpy = 1,
  kMemset = 2,
  kHost = 3,
  kGraph = 4,
  kEmpty = 5,
  kWaitEvent = 6,
  kEventRecord = 7,
  kMemoryAllocate = 10,
  kMemoryFree = 11,
};

// Source of a kernel node, so that it can be queried and changed.
struct KernelNode {
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;  // Packed, with real addresses.
  std::vector<void*> pointers;        // Into `parameters`, for the vendor's answer.
  std::vector<std::byte> read;        // `parameters`, and zeros where the kernel does not look.
};
struct HostNode {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};
struct EventNode {
  Event* event = nullptr;
};
struct MemoryNode {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = 0;
};
// The vendor's parameter structure of a copy or memset node, kept as it came for the vendor's
// questions.
using VendorParameters = std::vector<std::byte>;

struct GraphNode : core::Recycled<GraphNode> {
  static constexpr std::uint32_t kMagic = 0x45474e44;

  std::uint32_t magic = kMagic;
  std::uint64_t number = 0;  // Among all nodes of the process, copies too.
  NodeType type = NodeType::kEmpty;
  Graph* graph = nullptr;
  ring::GraphNodeKind kind = ring::GraphNodeKind::kEmpty;  // What the engine sees,
  std::uint32_t id = 0;                                    // and its number there.
  std::uint32_t operations = 1;  // Of the device, where it works, calls back or communicates.
  std::vector<GraphNode*> dependencies;
  std::variant<std::monostate, KernelNode, HostNode, EventNode, MemoryNode, VendorParameters>
      content;
  void Adopt(std::unique_ptr<Graph> graph_of_node);
  std::unique_ptr<Graph> child;
  std::vector<std::uint64_t> kernel_pointers;  // Where a replay may write.
  std::function<void()> on_replay;             // Moves known values, as the work does.
  int priority = 0;                            // For the vendor's question; no work goes by it.
  const GraphNode* original = nullptr;         // In the graph this one was cloned from.
};

struct Graph : core::Recycled<Graph> {
  static constexpr std::uint32_t kMagic = 0x45475248;

  std::uint32_t magic = kMagic;

  Graph();
  ~Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A new node behind `dependencies`, which must be nodes of this graph.
  GraphNode& Add(NodeType type, std::span<GraphNode* const> dependencies);
  bool Owns(const GraphNode* node) const { return node != nullptr && node->graph == this; }
  std::size_t EdgeCount() const;

  std::uint32_t number = 0;                       // cuGraphGetId.
  bool is_child = false;                          // A node owns it: not to be destroyed alone.
  std::vector<std::unique_ptr<GraphNode>> nodes;  // In the order in which they were added.
  UserReferences users;
};

struct GraphExec : core::Recycled<GraphExec> {
  static constexpr std::uint32_t kMagic = 0x45475845;

  std::uint32_t magic = kMagic;
  std::uint32_t number = 0;  // That of its own copy.
  std::uint64_t flags = 0;
  std::unique_ptr<Graph> graph;         // Its own copy.
  std::uint32_t ring_graph = 0;         // 0: to be defined (again) before the next launch.
  int device = 0;                       // Where it is defined to run.
  std::vector<const GraphNode*> order;  // Of the definition, child graphs opened up.
  std::mutex mutex;                     // Guards the three above against concurrent launches.
};

// Tells an observer of resources of a new node, and of copies of a graph's nodes, which are new and
// copies.
void TellOfNode(GraphNode& node) noexcept;
void TellOfCopies(const Graph& copy, const Graph& original, GraphExec* exec) noexcept;

// Handles. Null when they are none.
Graph* LookupGraph(void* handle) noexcept;
GraphNode* LookupNode(void* handle) noexcept;
GraphExec* LookupExec(void* handle) noexcept;

Status CreateGraph(Graph** result) noexcept;
Status DestroyGraph(Graph& graph) noexcept;
Status CloneGraph(const Graph& graph, Graph** result) noexcept;
// Removes a node and every edge to it.
Status DestroyNode(GraphNode& node) noexcept;
Status AddDependencies(Graph& graph, std::span<GraphNode* const> from,
                       std::span<GraphNode* const> to) noexcept;
Status RemoveDependencies(Graph& graph, std::span<GraphNode* const> from,
                          std::span<GraphNode* const> to) noexcept;
// The graph as Graphviz text. kInvalidValue when the file cannot be written.
Status PrintGraph(const Graph& graph, const char* path) noexcept;

// Makes the node other work than a kernel: `definition`, which does nothing when it is empty, and
// what a replay does to known bytes.
Status SetWorkNode(GraphNode& node, std::span<const std::byte> definition,
                   std::function<void()> on_replay) noexcept;

Status AddKernelNode(Graph& graph, std::span<GraphNode* const> dependencies, const Kernel& kernel,
                     const LaunchShape& shape, const LaunchParameters& parameters,
                     GraphNode** result) noexcept;
// Gives the kernel node other work. The executable graph of an exec node must be marked by the
// caller.
Status SetKernelNode(GraphNode& node, const Kernel& kernel, const LaunchShape& shape,
                     const LaunchParameters& parameters, int device) noexcept;

}  // namespace eidolon::shim::gpu
