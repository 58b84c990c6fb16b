// The slab of open operations: joins, edges and the propagation of finish times.
#include <algorithm>

#include "services/agent/device/engine.h"
#include "services/base/check.h"

namespace eidolon::agent::device {

using base::SimTime;

namespace {

// A node's name holds its slot and the slot's generation, so that a name is never used twice.
std::uint64_t NodeName(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | (slot + 1);
}
std::uint32_t SlotOf(std::uint64_t node) { return static_cast<std::uint32_t>(node) - 1; }

}  // namespace

std::uint64_t Engine::NewOpen(const Open& open) {
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slab_.size());
    slab_.push_back(open);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    const std::uint32_t generation = slab_[slot].generation;
    slab_[slot] = open;
    slab_[slot].generation = generation;
  }
  return NodeName(slot, slab_[slot].generation);
}

Engine::Open* Engine::FindOpen(std::uint64_t node) {
  Open& open = slab_[SlotOf(node)];
  return open.generation == static_cast<std::uint32_t>(node >> 32) ? &open : nullptr;
}

void Engine::AddEdge(std::uint64_t node, Edge edge) {
  Open* open = FindOpen(node);
  CHECK(open != nullptr);
  edge.next = open->first_edge;
  std::uint32_t slot;
  if (free_edges_.empty()) {
    slot = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back(edge);
  } else {
    slot = free_edges_.back();
    free_edges_.pop_back();
    edges_[slot] = edge;
  }
  open->first_edge = slot + 1;
}

Engine::Signal Engine::Merge(const Signal& a, const Signal& b, std::uint16_t device,
                             std::uint32_t stream) {
  Signal merged{.node = a.node, .at = std::max(a.at, b.at), .local = std::max(a.local, b.local)};
  if (b.node == 0 || a.node == b.node) return merged;
  if (a.node == 0) {
    merged.node = b.node;
    return merged;
  }
  Open join{.inputs = 2, .is_join = true};
  join.op.device = device;
  join.op.stream = stream;
  join.op.ready = merged.at;
  merged.node = NewOpen(join);
  AddEdge(a.node, {.kind = EdgeKind::kInput, .target = merged.node});
  AddEdge(b.node, {.kind = EdgeKind::kInput, .target = merged.node});
  return merged;
}

// All inputs are known. A collective now waits for the network; everything else ends at once.
void Engine::Settle(std::uint64_t node, Open* open) {
  if (!open->is_join && open->op.kind == OpKind::kCollective) {
    tokens_.Insert(open->token, node);
    sink_->CollectiveReady(open->token, open->op.ready);
    return;
  }
  open->op.start = open->op.ready;
  open->op.finish = open->op.ready + open->duration;
  finished_.emplace_back(node, open->op.finish);
}

bool Engine::ResolveCollective(std::uint64_t token, SimTime start, SimTime finish) {
  const std::uint64_t* node = tokens_.Find(token);
  if (node == nullptr) return false;
  const std::uint64_t name = *node;
  tokens_.Erase(token);
  Open& open = *FindOpen(name);
  open.op.start = std::max(start, open.op.ready);
  open.op.finish = std::max(finish, open.op.start);
  finished_.emplace_back(name, open.op.finish);
  while (!finished_.empty()) {
    const auto [next, end] = finished_.back();
    finished_.pop_back();
    Complete(next, end);
  }
  return true;
}

void Engine::Close(Signal* signal, std::uint64_t node, SimTime finish) {
  if (signal == nullptr || signal->node != node) return;
  signal->node = 0;
  signal->at = std::max(signal->at, finish);
}

void Engine::Complete(std::uint64_t node, SimTime finish) {
  const std::uint32_t slot = SlotOf(node);
  Open& open = slab_[slot];
  if (!open.is_join) {
    open.op.host_bound = open.op.ready == open.host_ready;
    --open_;
    sink_->OpResolved(open.op);
    if (open.op.kind == OpKind::kCollective) {
      Close(communicators_.Find(open.communicator), node, finish);
    }
  }
  const std::uint64_t legacy = std::uint64_t{1} << 40 | open.op.device;
  Stream* stream = streams_.Find(open.op.stream != 0 ? open.op.stream : legacy);
  if (stream != nullptr) Close(&stream->tail, node, finish);
  Close(&devices_[open.op.device].orphans, node, finish);
  const std::uint32_t first_edge = open.first_edge;
  ++open.generation;
  free_slots_.push_back(slot);
  FollowEdges(node, first_edge, finish);
}

void Engine::FollowEdges(std::uint64_t node, std::uint32_t first, SimTime finish) {
  for (std::uint32_t edge = first; edge != 0;) {
    const Edge taken = edges_[edge - 1];
    free_edges_.push_back(edge - 1);
    edge = taken.next;
    switch (taken.kind) {
      case EdgeKind::kStream:
        if (Stream* stream = streams_.Find(taken.target)) Close(&stream->tail, node, finish);
        break;
      case EdgeKind::kGraph:
        if (Graph* graph = graphs_.Find(taken.target)) Close(&graph->last, node, finish);
        break;
      case EdgeKind::kEvent:
        Close(events_.Find(taken.target), node, finish);
        break;
      case EdgeKind::kTicket:
        sink_->WaitEnded(taken.target, std::max(finish, taken.floor));
        break;
      case EdgeKind::kInput: {
        Open* target = FindOpen(taken.target);
        CHECK(target != nullptr && target->inputs > 0);
        target->op.ready = std::max(target->op.ready, finish + target->gap);
        if (--target->inputs == 0) Settle(taken.target, target);
        break;
      }
    }
  }
}

}  // namespace eidolon::agent::device
