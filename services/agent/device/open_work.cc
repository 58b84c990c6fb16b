#include "services/agent/device/open_work.h"

#include <algorithm>

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
  return NodeName(slot, slab_[slot].generation);
}

OpenWork::Node* OpenWork::Find(std::uint64_t node) {
  Node& found = slab_[IndexOf(node)];
  return found.generation == static_cast<std::uint32_t>(node >> 32) ? &found : nullptr;
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
  return {
      .node = node, .at = operation.op.ready + operation.duration, .local = operation.local_end};
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
                                      .duration = operation.duration});
  const Signal end{
      .node = node, .at = operation.op.ready + operation.duration, .local = operation.local_end};
  signals_->Put(communicator, end);
  if (after.node != 0) {
    AddEdge(after.node, {.kind = EdgeKind::kInput, .target = node});
  } else {
    Settle(node, Find(node));
  }
  return end;
}

Signal OpenWork::Join(const Signal& a, const Signal& b, Slot owner) {
  Signal joined{.at = std::max(a.at, b.at), .local = std::max(a.local, b.local)};
  Node join{.inputs = 2, .is_join = true, .owner = owner};
  join.op.ready = joined.at;
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

void OpenWork::Postpone(Slot slot, Duration by) {
  Signal signal = (*signals_)[slot];
  signal.at = signal.at + by;
  signal.local = signal.local + by;
  if (signal.node != 0) {
    Node late{.inputs = 1, .is_join = true, .owner = slot, .gap = by};
    late.op.ready = signal.at;
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
    tokens_.Insert(found->token, node);
    sink_->CollectiveReady(found->token, found->op.ready);
    return;
  }
  found->op.start = found->op.ready;
  found->op.finish = found->op.ready + found->duration;
  finished_.emplace_back(node, found->op.finish);
}

bool OpenWork::ResolveCollective(std::uint64_t token, SimTime start, SimTime finish) {
  const std::uint64_t* node = tokens_.Find(token);
  if (node == nullptr) return false;
  const std::uint64_t name = *node;
  tokens_.Erase(token);
  Node& found = *Find(name);
  found.op.start = std::max(start, found.op.ready);
  // Who asked before the answer came was told by the bound, so it holds afterwards, too.
  found.op.finish = std::max({finish, found.op.start, found.op.ready + found.duration});
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
  if (!found.is_join) {
    found.op.host_bound = found.op.ready == found.host_ready;
    --open_;
    sink_->OpResolved(found.op);
    if (found.op.kind == OpKind::kCollective) signals_->Close(found.communicator, node, finish);
  }
  signals_->Close(found.owner, node, finish);
  const std::uint32_t first_edge = found.first_edge;
  ++found.generation;
  free_nodes_.push_back(slot);
  FollowEdges(node, first_edge, finish);
}

void OpenWork::FollowEdges(std::uint64_t node, std::uint32_t first, SimTime finish) {
  for (std::uint32_t edge = first; edge != 0;) {
    const Edge taken = edges_[edge - 1];
    free_edges_.push_back(edge - 1);
    edge = taken.next;
    switch (taken.kind) {
      case EdgeKind::kSlot:
        signals_->Close(static_cast<Slot>(taken.target), node, finish);
        break;
      case EdgeKind::kTicket:
        sink_->WaitEnded(taken.target, std::max(finish, taken.floor));
        break;
      case EdgeKind::kInput: {
        Node* target = Find(taken.target);
        CHECK(target != nullptr && target->inputs > 0);
        target->op.ready = std::max(target->op.ready, finish + target->gap);
        if (--target->inputs == 0) Settle(taken.target, target);
        break;
      }
    }
  }
}

}  // namespace eidolon::agent::device
