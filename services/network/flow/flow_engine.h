// Fluid flows over links, shared max-min fairly: who runs how fast, and who ends next. Exact: after
// every change each flow either has its own cap or a full link on which nobody is faster.
//
// How it stays quick: after an event only links whose inputs changed are looked at again
// (level_solver.h); links that cannot bind, because narrower ones on the routes of all their flows
// let no more through, are left out (pruner.h): in a tree that is not oversubscribed these are all
// but the NICs' own; and the flows of one link end in an order that its level cannot change
// (finish_order.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/finish_order.h"
#include "services/network/flow/flow_spec.h"
#include "services/network/flow/flow_table.h"
#include "services/network/flow/full_solver.h"
#include "services/network/flow/hold_table.h"
#include "services/network/flow/level_solver.h"
#include "services/network/flow/link_agenda.h"
#include "services/network/flow/pruner.h"

namespace eidolon::network::flow {

// A simulation of flows: owns the table of flows and links, and lets its solvers bring shares up to
// date before anybody asks for them. Results are a function of the calls and their order. Not
// thread safe.
class FlowEngine {
 public:
  using Slot = FlowTable::Slot;

  // Bytes per second, by link, and the tier that the link counts as. Requires: each capacity is
  // below 2^48.
  explicit FlowEngine(std::span<const std::uint64_t> capacities,
                      std::span<const std::uint8_t> tiers = {});
  FlowEngine(const FlowEngine& other);
  FlowEngine& operator=(const FlowEngine&) = delete;

  base::SimTime now() const { return order_.now(); }
  // A flow that begins now. Requires: cap and weight are positive, links exist and differ.
  Slot Start(const FlowSpec& spec);
  // Ends a flow before its time.
  void Stop(Slot slot);
  // From now on; 0 stops the link's flows. Requires: below 2^48.
  void SetCapacity(std::uint32_t link, std::uint64_t bytes_per_second);

  // Returns when the next flow ends; nothing when none will.
  std::optional<base::SimTime> NextFinish();
  // Lets time pass. Appends the flows that end at `time`; their slots are free again.
  // Requires: now() <= time <= NextFinish().
  void AdvanceTo(base::SimTime time, std::vector<Slot>& finished);

  // Rate in rate units. Requires: the slot's flow is under way.
  std::uint64_t RateOf(Slot slot);
  // For how long full links held a flow that has ended below its cap, by link: adds to
  // `times`. Requires: no flow has begun since.
  void AddHeld(Slot slot, std::vector<LinkTime>* times) const { holds_.AddTo(slot, times); }
  // Returns what is left of a flow's work.
  Work LeftOf(Slot slot);
  std::size_t Active() const { return table_.LiveCount(); }
  // Load in rate units.
  std::uint64_t LoadOf(std::uint32_t link);
  std::uint64_t CapacityOf(std::uint32_t link) const { return table_.link(link).capacity; }

  // True while narrower links keep this one from binding, so that it is left out.
  bool Asleep(std::uint32_t link) const { return table_.link(link).asleep; }

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
  Counters counters() const;
  std::size_t BytesUsed() const;

 private:
  void Settle();
  void SolveFully();
  void Gather();
  void Release(Slot slot);

  FlowTable table_;
  FinishOrder order_;
  LinkAgenda agenda_;
  Pruner pruner_;
  HoldTable holds_;
  LevelSolver levels_;
  FullSolver full_;
  std::vector<Slot> arrived_;  // Since rates were brought up to date.
  bool dirty_ = false;
  std::uint64_t settled_ = 0;
  std::uint64_t solved_fully_ = 0;
};

}  // namespace eidolon::network::flow
