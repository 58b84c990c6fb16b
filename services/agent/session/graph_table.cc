// The engine has one node for each operation, while a captured NCCL call may hold a group of
// several. Such a node becomes a chain, and `last` maps each node of the record to the end of its
// chain, so dependencies stay right. A definition waits until the costs of all its work are known.
// It may then be applied again from the start, hence everything is built aside and nothing is
// stored before the end.
#include "services/agent/session/graph_table.h"

#include <utility>

#include "services/agent/session/prepared_call.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

std::unexpected<base::Error> Undefined(std::uint32_t node, const char* what, std::uint32_t id) {
  return Fail(ErrorCode::kCorrupt, StrCat("graph define record: node ", node, " names ", what, " ",
                                          id, ", which was not defined"));
}

}  // namespace

ApplyResult GraphTable::Define(const ring::RecordView& record) {
  const auto& define = record.As<wire::GraphDefine>();
  const auto* nodes = reinterpret_cast<const wire::GraphNode*>(&define + 1);
  const auto* dependencies = reinterpret_cast<const std::uint32_t*>(nodes + define.node_count);
  std::vector<device::GraphNode> made;
  std::vector<std::uint32_t> last(define.node_count);  // The made node that ends a given one.
  GraphShape shape;
  for (std::uint32_t i = 0; i < define.node_count; ++i) {
    device::GraphNode first;
    for (std::uint32_t d = 0; d < nodes[i].dependency_count; ++d) {
      first.dependencies.push_back(last[dependencies[nodes[i].first_dependency + d]]);
    }
    const auto applied = AddNode(i, nodes[i], std::move(first), &made, &shape);
    if (!applied || *applied == Applied::kStalled) return applied;
    last[i] = static_cast<std::uint32_t>(made.size() - 1);
  }
  auto done = engine_->DefineGraph(record.header().device, define.graph, std::move(made));
  if (!done) return std::unexpected(done.error());
  shapes_[define.graph] = std::move(shape);
  return Applied::kYes;
}

ApplyResult GraphTable::AddNode(std::uint32_t index, const wire::GraphNode& node,
                                device::GraphNode first, std::vector<device::GraphNode>* made,
                                GraphShape* shape) {
  switch (node.kind) {
    case wire::GraphNodeKind::kEmpty:
      break;
    case wire::GraphNodeKind::kWork: {
      const std::uint32_t* number = works_->Find(node.id);
      if (number == nullptr) return Undefined(index, "work", node.id);
      const cost::CostEntry& entry = host_->costs().entry(*number);
      if (!entry.known) return Applied::kStalled;
      first.kind = device::GraphNodeKind::kWork;
      first.work = entry.work;
      shape->nodes.push_back(
          {.id = node.id, .identity = *number, .update = entry.update, .likeness = entry.likeness});
      break;
    }
    case wire::GraphNodeKind::kEventRecord:
    case wire::GraphNodeKind::kEventWait:
      first.kind = node.kind == wire::GraphNodeKind::kEventWait
                       ? device::GraphNodeKind::kEventWait
                       : device::GraphNodeKind::kEventRecord;
      first.event = node.id;
      break;
    case wire::GraphNodeKind::kHostCallback:
      first.kind = device::GraphNodeKind::kCallback;
      shape->nodes.push_back({.id = node.id});
      break;
    case wire::GraphNodeKind::kCommunication: {
      const CommunicationTemplate* captured = calls_->FindTemplate(node.id);
      if (captured == nullptr) return Undefined(index, "template", node.id);
      first.kind = device::GraphNodeKind::kCollective;
      shape->templates.push_back(node.id);
      // The calls of a group follow each other.
      for (std::size_t call = 0; call < CountCalls(captured->ops); ++call) {
        shape->nodes.push_back({.id = node.id, .identity = ~node.id});
        made->push_back(std::move(first));
        first = {.kind = device::GraphNodeKind::kCollective,
                 .dependencies = {static_cast<std::uint32_t>(made->size() - 1)}};
      }
      return Applied::kYes;
    }
  }
  made->push_back(std::move(first));
  return Applied::kYes;
}

base::Result<void> GraphTable::Destroy(std::uint32_t graph) {
  shapes_.erase(graph);
  return engine_->DestroyGraph(graph);
}

base::Result<const GraphShape*> GraphTable::Find(std::uint32_t graph) const {
  const auto found = shapes_.find(graph);
  if (found == shapes_.end()) {
    return Fail(ErrorCode::kCorrupt, StrCat("graph ", graph, " does not exist"));
  }
  return &found->second;
}

}  // namespace eidolon::agent::session
