// Graphs: what the engine and the iteration detector need to know of one, and its launch's
// definition.
#include <algorithm>
#include <utility>

#include "services/agent/session/session.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

bool IsTransfer(const wire::CommunicationOp& op) {
  return op.kind == wire::CommunicationKind::kSend || op.kind == wire::CommunicationKind::kReceive;
}

// Calls that a template becomes: each collective is one, all sends and receives together are one.
std::size_t CallsOf(const std::vector<wire::CommunicationOp>& ops) {
  const auto transfers =
      static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), IsTransfer));
  return ops.size() - transfers + (transfers > 0 ? 1 : 0);
}

std::unexpected<base::Error> Undefined(std::uint32_t node, const char* what, std::uint32_t id) {
  return Fail(ErrorCode::kCorrupt, StrCat("graph define record: node ", node, " names ", what, " ",
                                          id, ", which was not defined"));
}

}  // namespace

Session::Outcome Session::DefineGraph(const ring::RecordView& record) {
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
    const auto applied = AddGraphNode(i, nodes[i], std::move(first), &made, &shape);
    if (!applied || *applied == Applied::kStalled) return applied;
    last[i] = static_cast<std::uint32_t>(made.size() - 1);
  }
  auto done = engine_.DefineGraph(record.header().device, define.graph, std::move(made));
  if (!done) return std::unexpected(done.error());
  graphs_[define.graph] = std::move(shape);
  return Applied::kYes;
}

Session::Outcome Session::AddGraphNode(std::uint32_t index, const wire::GraphNode& node,
                                       device::GraphNode first,
                                       std::vector<device::GraphNode>* made, GraphShape* shape) {
  switch (node.kind) {
    case wire::GraphNodeKind::kEmpty:
      break;
    case wire::GraphNodeKind::kWork: {
      const std::uint32_t* number = works_.Find(node.id);
      if (number == nullptr) return Undefined(index, "work", node.id);
      const cost::CostEntry& entry = host_->costs().entry(*number);
      if (!entry.known) return Applied::kStalled;
      first.kind = device::GraphNodeKind::kWork;
      first.work = entry.work;
      shape->nodes.push_back({.identity = *number, .update = entry.update});
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
      shape->nodes.push_back({});
      break;
    case wire::GraphNodeKind::kCommunication: {
      const auto found = templates_.find(node.id);
      if (found == templates_.end()) return Undefined(index, "template", node.id);
      first.kind = device::GraphNodeKind::kCollective;
      shape->templates.push_back(node.id);
      // The calls of a group follow each other.
      for (std::size_t call = 0; call < CallsOf(found->second.ops); ++call) {
        shape->nodes.push_back({.identity = ~node.id});
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

}  // namespace eidolon::agent::session
