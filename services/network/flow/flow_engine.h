// Fluid flows over links, shared max-min fairly: who runs how fast, and who ends next. Exact: after
// every change each flow either has its own cap or a full link on which nobody is faster.
//
// How it stays quick. A link that binds flows has a level, the speed per weight of the flows bound
// to it; they all share it, so a change of level is one number, and only flows that change their
// link are touched in the queue of ends (each link's flows end in an order that its level cannot
// change). After an event only links whose inputs changed are looked at again, the slowest first,
// because a link's level depends on slower links alone:
//
//     level(l) = (capacity(l) - what flows bound elsewhere take) / weight of the flows bound to l
//
// Links that cannot bind, because narrower ones on the ways of all their flows let no more through,
// are left out: in a tree that is not oversubscribed these are all but the cards' own.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_table.h"
#include "services/network/flow/flow_spec.h"

namespace eidolon::network::flow {

// A simulation of flows. Results are a function of the calls and their order. Not thread safe.
class FlowEngine : private FlowRecords {
 public:
  using Slot = FlowRecords::Slot;

  // Bytes per second, by link. Requires: each below 2^48.
  explicit FlowEngine(std::span<const std::uint64_t> capacities);

  base::SimTime now() const { return now_; }
  // A flow that begins now. Requires: cap and weight are positive, links exist and differ.
  Slot Start(const FlowSpec& spec);
  // Ends a flow before its time.
  void Stop(Slot slot);
  // From now on; 0 stops the link's flows. Requires: below 2^48.
  void SetCapacity(std::uint32_t link, std::uint64_t bytes_per_second);

  // When the next flow ends; nothing when none will.
  std::optional<base::SimTime> NextFinish();
  // Lets time pass. Appends the flows that end at `time`; their slots are free again.
  // Requires: now() <= time <= NextFinish().
  void AdvanceTo(base::SimTime time, std::vector<Slot>& finished);

  // Rate in rate units. Requires: the slot's flow is under way.
  std::uint64_t RateOf(Slot slot);
  // What is left of a flow's work.
  Work LeftOf(Slot slot);
  std::size_t Active() const { return active_; }
  // Load in rate units.
  std::uint64_t LoadOf(std::uint32_t link);
  std::uint64_t CapacityOf(std::uint32_t link) const { return links_[link].capacity; }

  // True while narrower links keep this one from binding, so that it is left out.
  bool Asleep(std::uint32_t link) const { return links_[link].asleep; }

  // Solves everything anew; for tests and for measuring.
  void SolveAnew();
  // True when every flow is at its cap or bound to a full link on which nobody is faster, and no
  // link carries more than its capacity, all to `tolerance` (relative).
  bool Certified(double tolerance);

  struct Counters {
    std::uint64_t settled = 0;  // Times that rates were brought up to date.
    std::uint64_t full = 0;     // Of these by solving everything.
    std::uint64_t links = 0;    // Links looked at.
    std::uint64_t moves = 0;    // Flows that changed their link.
  };
  const Counters& counters() const { return counters_; }
  std::size_t BytesUsed() const;

 private:
  // flow_engine.cc: time.
  std::uint32_t LinkOf(const Flow& flow) const { return entries_[flow.first + flow.bound].link; }
  void Catch(Group& group);
  void Loosen(Slot slot);
  void Gather();
  void Place(Slot slot);
  void PlaceGroup(std::uint32_t at);
  void HeapUp(Group& group, std::size_t at);
  void HeapDown(Group& group, std::size_t at);
  void RemoveFromOrder(Slot slot);
  void Settle();
  void Seat(Slot slot);
  Slot TakeSlot();
  std::uint32_t TakeEntries(std::uint32_t count);
  std::vector<std::uint32_t>& FreeEntries(std::uint32_t count);
  void Release(Slot slot);

  // end_queue.cc: the queue of ends, a 4-ary heap of links' groups and, numbered after the links,
  // of flows at their caps.
  std::uint32_t EndOf(Slot slot) const { return static_cast<std::uint32_t>(links_.size()) + slot; }
  std::uint32_t& Position(std::uint32_t id);
  void QueueUp(std::uint32_t position);
  void QueueDown(std::uint32_t position);
  void QueuePut(std::uint32_t id, base::SimTime at);
  void QueueRemove(std::uint32_t id);

  // level_solver.cc: shares.
  static std::uint64_t Usage(std::uint64_t level, std::uint32_t weight, std::uint32_t share) {
    const std::uint64_t rate = level * weight;
    if (share == Hop::kWhole) return rate;
    return static_cast<std::uint64_t>(static_cast<base::Wide>(rate) * share >> 31);
  }
  static std::uint64_t Slack(std::uint64_t level) { return 8 + (level >> 40); }
  std::uint64_t LevelIf(const Link& link) const;
  std::uint64_t LimitElsewhere(const Flow& flow, std::uint32_t hop, std::uint32_t& where) const;
  // The link's inputs changed: it is looked at again if that can matter.
  void Mark(std::uint32_t link) {
    const Link& marked = links_[link];
    const bool spare = marked.bound == 0 && marked.foreign <= marked.capacity;
    if (!marked.queued && !spare) Enqueue(link);
  }
  void Enqueue(std::uint32_t link);
  void Touch(std::uint32_t link);
  void Swap(Link& link, std::uint32_t a, std::uint32_t b);
  void BindMember(std::uint32_t link, const Entry& member, Slot slot);
  void UnbindMember(std::uint32_t link, const Entry& member, Slot slot);
  void Rebind(Slot slot, std::uint32_t hop);
  void Attach(Slot slot);
  void Detach(Slot slot);
  void SetFlowLevel(Slot slot, std::uint64_t level);
  void SetLevel(std::uint32_t link, std::uint64_t level);
  void Steal(std::uint32_t at);
  bool LetGo(std::uint32_t at, std::uint64_t level);
  void Process(std::uint32_t at);
  bool Propagate();

  // pruner.cc: links that cannot bind.
  static bool Awake(const Flow& flow, std::uint32_t hop) {
    return hop >= kMasked || (flow.awake >> hop & 1) != 0;
  }
  // Calls `visit` with each hop whose link is awake, but for `except`.
  template <typename Visit>
  static void ForAwake(const Flow& flow, std::uint32_t except, const Visit& visit) {
    std::uint32_t mask = flow.awake;
    if (except < kMasked) mask &= ~(1u << except);
    for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
    for (std::uint32_t hop = kMasked; hop < flow.hops; ++hop) {
      if (hop != except) visit(hop);
    }
  }
  Feed* FeedOf(std::uint32_t feeder, std::uint32_t link);
  std::uint32_t FeederOf(const Flow& flow, std::uint32_t hop);
  void CountIn(Slot slot, std::uint32_t hop);
  void CountOut(Slot slot, std::uint32_t hop);
  void FindOthers(Slot slot);
  void WakeIfShort(std::uint32_t link);
  void Refeed(std::uint32_t link, std::uint64_t before);

  // full_solver.cc.
  void FullSolve();
  void Freeze(Slot slot, std::uint32_t hop, std::uint64_t level);
  void AdoptLevels();

  base::SimTime now_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint64_t> levels_;  // Rates per weight, by slot.
  std::vector<Entry> entries_;
  std::vector<Slot> free_slots_;
  std::vector<std::vector<std::uint32_t>> free_entries_;  // By count, of small counts.
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_large_entries_;
  std::vector<Group> groups_;  // Of links, then of slots.
  std::uint32_t first_own_group_ = 0;
  std::vector<End> queue_;  // By time: a 4-ary heap.
  std::vector<Slot> loose_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> work_;  // Links to look at, by level.
  std::vector<Slot> arrived_;
  std::size_t active_ = 0;
  bool dirty_ = false;
  Counters counters_;

  // Scratch of the solvers.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> candidates_;
  std::vector<Stealable> stealable_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> heap_;
  std::vector<std::uint64_t> residual_;
  std::vector<std::uint64_t> rising_;
  std::vector<std::uint8_t> frozen_;
};

}  // namespace eidolon::network::flow
