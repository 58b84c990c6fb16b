// Fair shares after a change. A link that binds flows has a level, the speed per weight of the
// flows bound to it; they all share it, so a change of level is one number, and only flows that
// change their link lose their place in the order of ends. Only links whose inputs changed are
// looked at again, the slowest first, because a link's level depends on slower links alone:
//
//     level(l) = (capacity(l) - what flows bound elsewhere take) / weight of the flows bound to l
#pragma once

#include <cstdint>
#include <vector>

#include "services/network/flow/finish_order.h"
#include "services/network/flow/flow_table.h"
#include "services/network/flow/hold_table.h"
#include "services/network/flow/link_agenda.h"

namespace eidolon::network::flow {

// Changes the table's levels and what binds each flow; the order of ends hears of both, and the
// book of holds of the latter. All outlive it. Invariant: when Propagate has emptied the agenda,
// every flow has its cap, or a full link on which nobody is faster. Not thread safe.
class LevelSolver {
 public:
  using Slot = FlowTable::Slot;

  struct Counters {
    std::uint64_t links = 0;  // Looked at.
    std::uint64_t moves = 0;  // Flows that changed their link.
  };

  LevelSolver(FlowTable& table, LinkAgenda& agenda, FinishOrder& order, HoldTable& holds)
      : table_(table), agenda_(agenda), order_(order), holds_(holds) {}
  // The same for a copy of the table.
  LevelSolver(const LevelSolver& other, FlowTable& table, LinkAgenda& agenda, FinishOrder& order,
              HoldTable& holds)
      : table_(table), agenda_(agenda), order_(order), holds_(holds), counters_(other.counters_) {}
  LevelSolver(const LevelSolver&) = delete;
  LevelSolver& operator=(const LevelSolver&) = delete;

  // Gives a new flow a first share: where it would get least if it joined now. The links correct
  // it.
  void Seat(Slot slot);
  // Takes the flow from the link that binds it, and from that link's inputs.
  void Unseat(Slot slot);
  // Brings all links on the agenda up to date. False when it does not come to an end soon enough;
  // the state is then to be solved anew.
  bool Propagate();
  // Returns what the order of ends knows of the flow.
  FinishOrder::Seat SeatOf(Slot slot) const {
    return {.group = table_.BoundLink(slot), .level = table_.level(slot)};
  }
  const Counters& counters() const { return counters_; }

 private:
  // A flow that a link may take from where it is bound.
  struct Stealable {
    std::uint64_t level = 0;
    FlowTable::Member member;
    bool operator<(const Stealable& other) const {
      return level != other.level ? level < other.level : member.entry < other.member.entry;
    }
  };

  std::uint64_t LimitElsewhere(Slot slot, std::uint32_t hop, std::uint32_t& where) const;
  void Rebind(Slot slot, std::uint32_t hop);
  void SetFlowLevel(Slot slot, std::uint64_t level);
  void SetLevel(std::uint32_t at, std::uint64_t level);
  void Steal(std::uint32_t at);
  bool LetGo(std::uint32_t at, std::uint64_t level);
  void Process(std::uint32_t at);

  FlowTable& table_;
  LinkAgenda& agenda_;
  FinishOrder& order_;
  HoldTable& holds_;
  Counters counters_;
  std::vector<Stealable> stealable_;  // Scratch.
};

}  // namespace eidolon::network::flow
