// Orders flows by their end. The flows bound to one link share its level, so that they end in a
// fixed order whatever the level does: they form a group, ordered by the progress at which each
// ends, and only the end of a group's first flow is a time in the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/end_queue.h"
#include "services/network/flow/flow_spec.h"

namespace eidolon::network::flow {

// Owns the present time and what is left of each flow. A flow has a seat, a group or (alone) the
// queue itself, or it is loose: taken from its seat because that changes, with what is left of its
// work per weight. Between a change and the next Gather groups that were touched may be out of
// date. Invariants after Gather: no flow is loose; a group whose flows move is in the queue with
// the end of its first. Copyable; not thread safe.
class FinishOrder {
 public:
  using Slot = std::uint32_t;  // Of a flow.
  static constexpr std::uint32_t kAlone = ~std::uint32_t{0};

  // Group in which a flow runs, and its speed if alone.
  struct Seat {
    std::uint32_t group = kAlone;
    std::uint64_t level = 0;  // Rate per weight.
  };

  explicit FinishOrder(std::uint32_t groups)
      : group_count_(groups), groups_(groups), queue_(groups) {}

  base::SimTime now() const { return now_; }
  // A new flow with so much work per weight, loose.
  void Enter(Slot slot, Work left);
  // It ends before its time. Requires: it has this seat.
  void Drop(Slot slot, const Seat& seat);
  bool IsLoose(Slot slot) const { return flows_[slot].place == kLoose; }
  // Takes the flow from its seat, if it still has one: this one.
  void Loosen(Slot slot, const Seat& seat);
  // The group's level is about to change, or has changed.
  void Touch(std::uint32_t group) {
    if (groups_[group].touched) return;
    groups_[group].touched = true;
    touched_.push_back(group);
  }
  // Gives touched groups their new levels, `level_of(group)`, and loose flows the seats that
  // `seat_of(slot)` names.
  template <typename LevelOf, typename SeatOf>
  void Gather(const LevelOf& level_of, const SeatOf& seat_of) {
    for (std::uint32_t group : touched_) SetLevel(group, level_of(group));
    for (Slot slot : loose_) {
      if (IsLoose(slot)) Place(slot, seat_of(slot));
    }
    loose_.clear();
    PlaceTouched();
  }

  // Returns when the next flow ends; nothing when none will.
  std::optional<base::SimTime> Next() const;
  // Lets time pass. Appends the flows that end at `time`. Requires: nothing is loose or touched,
  // and now() <= time, which no end precedes.
  void AdvanceTo(base::SimTime time, std::vector<Slot>& finished);
  // Returns what is left of a flow's work, per weight. Requires: it has this seat.
  Work LeftOf(Slot slot, const Seat& seat);

  std::size_t BytesUsed() const;

 private:
  // Stands for a place in a group's heap.
  static constexpr std::uint32_t kInQueue = ~std::uint32_t{0};
  static constexpr std::uint32_t kLoose = kInQueue - 1;
  static constexpr std::uint32_t kGone = kInQueue - 2;

  // The flows bound to one link. Progress counts work per weight.
  struct Group {
    Work progress = 0;
    base::SimTime updated;
    std::uint64_t level = 0;
    std::vector<Slot> heap;  // By goal.
    bool touched = false;
  };
  // Packed, as the table's flows are.
  struct [[gnu::packed, gnu::aligned(4)]] Flow {
    // The group's progress at which the flow ends, if it is in a group. Alone: the picosecond at
    // which it ends. Loose: what is left, per weight.
    Work goal = 0;
    std::uint32_t place = kGone;  // In its group's heap, or one of the above.
  };
  std::uint32_t EndOf(Slot slot) const { return group_count_ + slot; }
  void Catch(Group& group);
  void SetLevel(std::uint32_t group, std::uint64_t level);
  void Place(Slot slot, const Seat& seat);
  void PlaceTouched();
  void PlaceGroup(std::uint32_t group);
  void Take(Slot slot, std::uint32_t group);
  void Up(Group& group, std::size_t at);
  void Down(Group& group, std::size_t at);

  std::uint32_t group_count_;
  base::SimTime now_;
  std::vector<Group> groups_;
  std::vector<Flow> flows_;  // By slot.
  EndQueue queue_;           // Groups, then flows that are alone.
  std::vector<Slot> loose_;  // May name flows that have ended since.
  std::vector<std::uint32_t> touched_;
};

}  // namespace eidolon::network::flow
