// Operations that wait for a collective, and who waits for them: a graph of open work, through
// which finish times spread once the network answers. It knows neither streams nor events, only the
// slots of their signals (signal_table.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "services/agent/device/id_map.h"
#include "services/agent/device/operation.h"
#include "services/agent/device/signal_table.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// Owned by the engine; no threads. Nodes live in a slab until they are resolved, so its size
// follows the open work. Invariants: a node's name is never used twice; every open signal of the
// table is closed when its node ends.
class OpenWork {
 public:
  using Slot = SignalTable::Slot;

  // Both outlive it.
  OpenWork(SignalTable* signals, Sink* sink) : signals_(signals), sink_(sink) {}
  OpenWork(const OpenWork&) = delete;
  OpenWork& operator=(const OpenWork&) = delete;

  struct Operation {
    ResolvedOp op{};          // `ready` so far; its start and finish are found here.
    Slot owner = 0;           // Of the stream it runs in: hears of the end.
    base::SimTime local_end;  // Its end on the local timeline.
    base::SimTime host_ready;
    base::Duration gap;  // From the end of its input to its start.
    // Least time that a collective takes from `ready` on, whose end the network reports.
    base::Duration duration;
    bool tells_bound = false;  // Of a collective: Sink::CollectiveBounded hears of it.
  };
  // Each returns the signal of the operation's end. Requires: `after` is open.
  Signal AddWork(const Signal& after, const Operation& operation);
  // `after` may be complete: the collective is then ready at once. The signal becomes that of the
  // communicator, too.
  Signal AddCollective(const Signal& after, const Operation& operation, std::uint64_t token,
                       Slot communicator);
  // The later of two signals. `owner`: whose signal it is going to be, most likely.
  Signal Merge(const Signal& a, const Signal& b, Slot owner) {
    if (b.node != 0 && a.node != b.node && a.node != 0) return Join(a, b, owner);
    return {.node = a.node != 0 ? a.node : b.node,
            .at = std::max(a.at, b.at),
            .local = std::max(a.local, b.local),
            .source = SourceOfLater(a.at, a.source, b.at, b.source)};
  }

  // Puts a signal into a slot and makes sure that the slot hears of its end.
  void Assign(Slot slot, const Signal& signal) {
    if (signal.node != 0 && signal.node != (*signals_)[slot].node) Follow(slot, signal.node);
    signals_->Put(slot, signal);
  }
  // As Assign, without a look. Requires: the signal is complete or of an operation whose owner the
  // slot is.
  void AssignOwned(Slot slot, const Signal& signal) { signals_->Put(slot, signal); }
  // Makes the end that the slot's signal stands for later than was reported.
  void Postpone(Slot slot, base::Duration by);

  // The time, or nothing while it is open; with a ticket Sink::WaitEnded then tells it later.
  std::optional<base::SimTime> Watch(const Signal& signal, std::optional<std::uint64_t> ticket);

  // The end of a signal's node at the earliest; time 0 when it has ended.
  base::SimTime EarliestEnd(std::uint64_t node) const;
  // The collective ends at `end` or later, and so what waits for it. Nothing happens when none with
  // this token is open.
  void BoundCollective(std::uint64_t token, base::SimTime end);
  // The network's answer. False when no collective with this token is open and ready.
  bool ResolveCollective(std::uint64_t token, base::SimTime start, base::SimTime finish);

  // Operations that wait for a collective, collectives included.
  std::size_t open_operations() const { return open_; }

 private:
  // An operation, or a join of two signals, of which `op` holds what the later one is.
  struct Node {
    ResolvedOp op{};
    std::uint32_t generation = 1;
    std::uint32_t inputs = 0;
    std::uint32_t first_edge = 0;  // Index + 1 into edges_.
    bool is_join = false;
    Slot owner = 0;
    Slot communicator = 0;
    std::uint64_t token = 0;
    base::SimTime host_ready;
    base::Duration gap;
    base::Duration duration;   // Of a collective the least.
    std::uint64_t order = 0;   // Nodes that were made before it: its inputs are among them.
    base::SimTime not_before;  // Of a collective's end, from the network.
    bool tells_bound = false;
    base::SimTime told;  // The bound that was told last.
  };
  enum class EdgeKind : std::uint8_t { kInput, kSlot, kTicket };
  struct Edge {
    std::uint32_t next = 0;
    EdgeKind kind = EdgeKind::kInput;
    std::uint64_t target = 0;
    base::SimTime floor;  // kTicket: the answer is at least this.
  };

  Signal Join(const Signal& a, const Signal& b, Slot owner);
  void Follow(Slot slot, std::uint64_t node);
  std::uint64_t NewNode(const Node& node);
  const Node* Find(std::uint64_t node) const;  // Null when it has ended.
  Node* Find(std::uint64_t node) { return const_cast<Node*>(std::as_const(*this).Find(node)); }
  void AddEdge(std::uint64_t node, Edge edge);
  void Complete(std::uint64_t node, base::SimTime finish);
  void Settle(std::uint64_t node, Node* found);
  static base::SimTime BoundOf(const Node& node);
  static std::uint64_t SourceOf(const Node& node);
  void TellBound(Node* node);
  void RaiseWhatWaitsFor(std::uint64_t node);
  void FollowEdges(const NodeEnd& end, std::uint32_t first);

  SignalTable* signals_;
  Sink* sink_;
  IdMap<std::uint64_t> tokens_;  // Open collectives.
  std::uint64_t nodes_made_ = 0;
  std::vector<Node> slab_;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> free_edges_;
  std::vector<std::pair<std::uint64_t, base::SimTime>> finished_;  // Work list of Complete.
  std::size_t open_ = 0;
};

}  // namespace eidolon::agent::device
