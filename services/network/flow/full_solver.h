// The solution of everything at once, by water-filling: the slowest link freezes its flows, and so
// on. For many arrivals at one instant, for changes that do not come to an end soon enough, and the
// reference for tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "services/network/flow/finish_order.h"
#include "services/network/flow/flow_table.h"
#include "services/network/flow/hold_table.h"
#include "services/network/flow/link_agenda.h"

namespace eidolon::network::flow {

// Finds the table's levels and what binds each flow from nothing but capacities and flows; the
// agenda is empty then. All three outlive it. Not thread safe.
class FullSolver {
 public:
  using Slot = FlowTable::Slot;

  FullSolver(FlowTable& table, LinkAgenda& agenda, FinishOrder& order, HoldTable& holds)
      : table_(table), agenda_(agenda), order_(order), holds_(holds) {}
  // The same for a copy of the table.
  FullSolver(const FullSolver& other, FlowTable& table, LinkAgenda& agenda, FinishOrder& order,
             HoldTable& holds)
      : table_(table), agenda_(agenda), order_(order), holds_(holds), moves_(other.moves_) {}
  FullSolver(const FullSolver&) = delete;
  FullSolver& operator=(const FullSolver&) = delete;

  void Solve();
  // Flows that changed their link so far.
  std::uint64_t moves() const { return moves_; }

 private:
  void CountRising();
  void OpenLinks();
  void FreezeLink(std::uint64_t next);
  void Freeze(Slot slot, std::uint32_t hop, std::uint64_t level);

  FlowTable& table_;
  LinkAgenda& agenda_;
  FinishOrder& order_;
  HoldTable& holds_;
  std::uint64_t moves_ = 0;

  // Scratch.
  std::vector<std::pair<std::uint64_t, Slot>> capped_;          // Flows with a cap, by cap.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> links_;  // By level: a heap.
  std::vector<std::uint64_t> residual_;                         // By link: room that is left.
  std::vector<std::uint64_t> rising_;                           // By link: weight x share.
  std::vector<std::uint8_t> frozen_;                            // By slot.
};

}  // namespace eidolon::network::flow
