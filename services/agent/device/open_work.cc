// Finish times spread along edges from an ended node to what waits for it. A node's time is the
// maximum over its inputs, so the result is the same in whatever order answers come. Complete works
// through a list instead of calling itself, because a chain of open work may be as long as a step.
// It gives the node's slot back first, hence everything it still needs is copied. Bounds only grow,
// and an end is never before a bound that was sent, because a rank may have continued by it. A
// pointer to a node is void after NewNode, which may move the slab.
#include "services/agent/device/open_work.h"

#include <algorithm>
#include <set>

#include "services/base/check.h"

namespace eidolon::agent::device {

using base::Duration;
using base::SimTime;

namespace {

// A node's name holds its slot and the slot's generation, so that a name is never used twice.
std::uint64_t NodeName(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | (slot + 1);
}
std::uint32_t IndexOf(std::uint64_t node) { return static_cast<std::uint32_t>(node) - 1; }

// Listeners hear of a new bound only when it lets them skip a query.
constexpr Duration kNotable = Duration::Microseconds(50);

}  // namespace

std::uint64_t OpenWork::NewNode(const Node& node) {
  std::uint32_t slot;
  if (free_nodes_.empty()) {
    slot = static_cast<std::uint32_t>(slab_.size());
    slab_.push_back(node);
  } else {
    slot = free_nodes_.back();
    free_nodes_.pop_back();
    const std::uint32_t generation = slab_[slot].generation;
    slab_[slot] = node;
    slab_[slot].generation = generation;
  }
  slab_[slot].order = nodes_made_++;
  return NodeName(slot, slab_[slot].generation);
}

const OpenWork::Node* OpenWork::Find(std::uint64_t node) const {
  const Node& found = slab_[IndexOf(node)];
  return found.generation == static_cast<std::uint32_t>(node >> 32) ? &found : nullptr;
}

SimTime OpenWork::EarliestEnd(std::uint64_t node) const {
  const Node* found = Find(node);
  return found == nullptr ? SimTime{} : BoundOf(*found);
}

void OpenWork::AddEdge(std::uint64_t node, Edge edge) {
  Node* found = Find(node);
  CHECK(found != nullptr);
  edge.next = found->first_edge;
  std::uint32_t slot;
  if (free_edges_.empty()) {
    slot = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back(edge);
  } else {
    slot = free_edges_.back();
    free_edges_.pop_back();
    edges_[slot] = edge;
  }
  found->first_edge = slot + 1;
}

Signal OpenWork::AddWork(const Signal& after, const Operation& operation) {
  ++open_;
  const std::uint64_t node = NewNode({.op = operation.op,
                                      .inputs = 1,
                                      .owner = operation.owner,
                                      .host_ready = operation.host_ready,
                                      .gap = operation.gap,
                                      .duration = operation.duration});
  AddEdge(after.node, {.kind = EdgeKind::kInput, .target = node});
  // It starts at `ready` or later and is never shorter: a bound for whoever asks before the end is
  // known.
  return {.node = node,
          .at = operation.op.ready + operation.duration,
          .local = operation.local_end,
          .source = operation.op.sequence + 1};
}

Signal OpenWork::AddCollective(const Signal& after, const Operation& operation, std::uint64_t token,
                               Slot communicator) {
  ++open_;
  const std::uint64_t node = NewNode({.op = operation.op,
                                      .inputs = after.node == 0 ? 0u : 1u,
                                      .owner = operation.owner,
                                      .communicator = communicator,
                                      .token = token,
                                      .host_ready = operation.host_ready,
                                      .gap = operation.gap,
                                      .duration = operation.duration,
                                      .tells_bound = operation.tells_bound});
  tokens_.Insert(token, node);
  const Signal end{.node = node,
                   .at = operation.op.ready + operation.duration,
                   .local = operation.local_end,
                   .source = operation.op.sequence + 1};
  signals_->Put(communicator, end);
  if (after.node != 0) {
    AddEdge(after.node, {.kind = EdgeKind::kInput, .target = node});
    TellBound(Find(node));
  } else {
    Settle(node, Find(node));
  }
  return end;
}

Signal OpenWork::Join(const Signal& a, const Signal& b, Slot owner) {
  Signal joined{.at = std::max(a.at, b.at),
                .local = std::max(a.local, b.local),
                .source = SourceOfLater(a.at, a.source, b.at, b.source)};
  Node join{.inputs = 2, .is_join = true, .owner = owner};
  join.op.ready = joined.at;
  join.op.released_by = joined.source;
  joined.node = NewNode(join);
  AddEdge(a.node, {.kind = EdgeKind::kInput, .target = joined.node});
  AddEdge(b.node, {.kind = EdgeKind::kInput, .target = joined.node});
  return joined;
}

// The owner of a node hears of its end anyway.
void OpenWork::Follow(Slot slot, std::uint64_t node) {
  const Node* found = Find(node);
  CHECK(found != nullptr);
  if (found->owner != slot) AddEdge(node, {.kind = EdgeKind::kSlot, .target = slot});
}

// The end of open work is not known, so the delay becomes a node of its own: a join of one input
// whose gap is the delay.
void OpenWork::Postpone(Slot slot, Duration by) {
  Signal signal = (*signals_)[slot];
  signal.at = signal.at + by;
  signal.local = signal.local + by;
  if (signal.node != 0) {
    Node late{.inputs = 1, .is_join = true, .owner = slot, .gap = by};
    late.op.ready = signal.at;
    late.op.released_by = signal.source;
    const std::uint64_t node = NewNode(late);
    AddEdge(signal.node, {.kind = EdgeKind::kInput, .target = node});
    signal.node = node;
  }
  signals_->Put(slot, signal);
}

std::optional<SimTime> OpenWork::Watch(const Signal& signal, std::optional<std::uint64_t> ticket) {
  if (signal.node == 0) return signal.at;
  if (ticket.has_value()) {
    AddEdge(signal.node, {.kind = EdgeKind::kTicket, .target = *ticket, .floor = signal.at});
  }
  return std::nullopt;
}

// All inputs are known. A collective now waits for the network; everything else ends at once.
void OpenWork::Settle(std::uint64_t node, Node* found) {
  if (!found->is_join && found->op.kind == OpKind::kCollective) {
    sink_->CollectiveReady(found->token, found->op.ready);
    return;
  }
  found->op.start = found->op.ready;
  found->op.finish = found->op.ready + found->duration;
  finished_.emplace_back(node, found->op.finish);
}

SimTime OpenWork::BoundOf(const Node& node) {
  return std::max(node.op.ready + node.duration, node.not_before);
}

std::uint64_t OpenWork::SourceOf(const Node& node) {
  return node.is_join ? node.op.released_by : node.op.sequence + 1;
}

void OpenWork::TellBound(Node* node) {
  if (!node->tells_bound || node->inputs == 0) return;
  if (node->told != SimTime{} && node->op.ready < node->told + kNotable) return;
  node->told = node->op.ready;
  sink_->CollectiveBounded(node->token, node->op.ready);
}

void OpenWork::BoundCollective(std::uint64_t token, SimTime end) {
  const std::uint64_t* node = tokens_.Find(token);
  if (node == nullptr) return;
  Node& found = *Find(*node);
  if (end <= BoundOf(found)) return;
  found.not_before = end;
  RaiseWhatWaitsFor(*node);
}

// Visits nodes in the order in which they were made, so that each is visited once, after all of its
// inputs.
void OpenWork::RaiseWhatWaitsFor(std::uint64_t node) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> raised{{Find(node)->order, node}};
  while (!raised.empty()) {
    const std::uint64_t name = raised.extract(raised.begin()).value().second;
    const Node& found = *Find(name);
    const NodeEnd bound{.node = name, .at = BoundOf(found), .source = SourceOf(found)};
    signals_->Raise(found.owner, bound);
    if (!found.is_join && found.op.kind == OpKind::kCollective) {
      signals_->Raise(found.communicator, bound);
    }
    for (std::uint32_t at = found.first_edge; at != 0; at = edges_[at - 1].next) {
      const Edge& edge = edges_[at - 1];
      if (edge.kind == EdgeKind::kSlot) {
        signals_->Raise(static_cast<Slot>(edge.target), bound);
      }
      if (edge.kind != EdgeKind::kInput) continue;
      Node* target = Find(edge.target);
      if (bound.at + target->gap <= target->op.ready) continue;
      target->op.ready = bound.at + target->gap;
      target->op.released_by = bound.source;
      TellBound(target);
      raised.emplace(target->order, edge.target);
    }
  }
}

bool OpenWork::ResolveCollective(std::uint64_t token, SimTime start, SimTime finish) {
  const std::uint64_t* node = tokens_.Find(token);
  if (node == nullptr) return false;
  const std::uint64_t name = *node;
  Node& found = *Find(name);
  if (found.inputs > 0) return false;
  tokens_.Erase(token);
  found.op.start = std::max(start, found.op.ready);
  // Who asked before the answer came was told by the bound, so it holds afterwards, too.
  found.op.finish = std::max({finish, found.op.start, BoundOf(found)});
  finished_.emplace_back(name, found.op.finish);
  while (!finished_.empty()) {
    const auto [next, end] = finished_.back();
    finished_.pop_back();
    Complete(next, end);
  }
  return true;
}

void OpenWork::Complete(std::uint64_t node, SimTime finish) {
  const std::uint32_t slot = IndexOf(node);
  Node& found = slab_[slot];
  const NodeEnd end{.node = node, .at = finish, .source = SourceOf(found)};
  if (!found.is_join) {
    found.op.host_bound = found.op.ready == found.host_ready;
    --open_;
    sink_->OpResolved(found.op);
    if (found.op.kind == OpKind::kCollective) signals_->Close(found.communicator, end);
  }
  signals_->Close(found.owner, end);
  const std::uint32_t first_edge = found.first_edge;
  ++found.generation;
  free_nodes_.push_back(slot);
  FollowEdges(end, first_edge);
}

void OpenWork::FollowEdges(const NodeEnd& end, std::uint32_t first) {
  for (std::uint32_t edge = first; edge != 0;) {
    const Edge taken = edges_[edge - 1];
    free_edges_.push_back(edge - 1);
    edge = taken.next;
    switch (taken.kind) {
      case EdgeKind::kSlot:
        signals_->Close(static_cast<Slot>(taken.target), end);
        break;
      case EdgeKind::kTicket:
        sink_->WaitEnded(taken.target, std::max(end.at, taken.floor));
        break;
      case EdgeKind::kInput: {
        Node* target = Find(taken.target);
        CHECK(target != nullptr && target->inputs > 0);
        const SimTime ready = end.at + target->gap;
        target->op.released_by =
            SourceOfLater(ready, end.source, target->op.ready, target->op.released_by);
        target->op.ready = std::max(target->op.ready, ready);
        if (--target->inputs == 0) Settle(taken.target, target);
        break;
      }
    }
  }
}

}  // namespace eidolon::agent::device
