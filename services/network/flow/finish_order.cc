// One change of level can concern thousands of flows of a link, and moving each of their ends would
// make every event as expensive as the link is busy. Instead a group accumulates progress (level
// times picoseconds, which is work per weight), and a flow keeps the progress at which it ends. A
// change of level then moves one entry of the queue. Waits round up, so a flow never ends before
// its work is done, and an end that is due has always reached its goal. A flow must be loosened
// with the seat that it had: what is left of it follows from the group or the level of that time.
#include "services/network/flow/finish_order.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::network::flow {
namespace {

using base::Duration;
using base::SimTime;
using base::Wide;

// How long work takes at a level, rounded up; not beyond the end of time.
Duration Wait(Wide work, std::uint64_t level, SimTime from) {
  const auto most = static_cast<Wide>(SimTime::Max().ps - from.ps);
  if (level == 0) return Duration{static_cast<std::int64_t>(most)};
  if (work < (static_cast<Wide>(1) << 63)) {
    const auto small = static_cast<std::uint64_t>(work);
    return Duration{static_cast<std::int64_t>(
        std::min<std::uint64_t>((small + level - 1) / level, static_cast<std::uint64_t>(most)))};
  }
  return Duration{static_cast<std::int64_t>(std::min((work + level - 1) / level, most))};
}

}  // namespace

void FinishOrder::Enter(Slot slot, Work left) {
  if (slot >= flows_.size()) flows_.resize(std::size_t{slot} + 1);
  flows_[slot] = {.goal = left, .place = kLoose};
  loose_.push_back(slot);
}

void FinishOrder::Drop(Slot slot, const Seat& seat) {
  if (flows_[slot].place != kLoose) Take(slot, seat.group);
  flows_[slot].place = kGone;
}

void FinishOrder::Catch(Group& group) {
  if (group.updated == now_) return;
  group.progress +=
      static_cast<Wide>(group.level) * static_cast<std::uint64_t>((now_ - group.updated).ps);
  group.updated = now_;
}

Work FinishOrder::LeftOf(Slot slot, const Seat& seat) {
  const Work goal = flows_[slot].goal;
  if (seat.group == kAlone) return (goal - static_cast<Wide>(now_.ps)) * seat.level;
  Group& group = groups_[seat.group];
  Catch(group);
  return goal > group.progress ? goal - group.progress : 0;
}

void FinishOrder::Loosen(Slot slot, const Seat& seat) {
  if (flows_[slot].place == kLoose) return;
  const Work left = LeftOf(slot, seat);
  Take(slot, seat.group);
  flows_[slot] = {.goal = left, .place = kLoose};
  loose_.push_back(slot);
}

void FinishOrder::Up(Group& group, std::size_t at) {
  const Slot slot = group.heap[at];
  const Wide goal = flows_[slot].goal;
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    const Slot other = group.heap[parent];
    if (flows_[other].goal <= goal) break;
    group.heap[at] = other;
    flows_[other].place = static_cast<std::uint32_t>(at);
    at = parent;
  }
  group.heap[at] = slot;
  flows_[slot].place = static_cast<std::uint32_t>(at);
}

void FinishOrder::Down(Group& group, std::size_t at) {
  const Slot slot = group.heap[at];
  const Wide goal = flows_[slot].goal;
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= group.heap.size()) break;
    if (child + 1 < group.heap.size() &&
        flows_[group.heap[child + 1]].goal < flows_[group.heap[child]].goal) {
      ++child;
    }
    const Slot other = group.heap[child];
    if (goal <= flows_[other].goal) break;
    group.heap[at] = other;
    flows_[other].place = static_cast<std::uint32_t>(at);
    at = child;
  }
  group.heap[at] = slot;
  flows_[slot].place = static_cast<std::uint32_t>(at);
}

// The flow's place in the queue or in its group is free again; the caller says what it is then.
void FinishOrder::Take(Slot slot, std::uint32_t at) {
  if (at == kAlone) {
    queue_.Remove(EndOf(slot));
    return;
  }
  Group& group = groups_[at];
  const std::size_t place = flows_[slot].place;
  const Slot last = group.heap.back();
  group.heap.pop_back();
  if (last != slot) {
    group.heap[place] = last;
    flows_[last].place = static_cast<std::uint32_t>(place);
    Up(group, place);
    Down(group, flows_[last].place);
  }
  Touch(at);
}

// Puts the group into the queue by the end of its first flow, or takes it out.
void FinishOrder::PlaceGroup(std::uint32_t at) {
  const Group& group = groups_[at];
  if (group.heap.empty() || group.level == 0) {
    queue_.Remove(at);
    return;
  }
  const Wide goal = flows_[group.heap.front()].goal;
  const Wide left = goal > group.progress ? goal - group.progress : 0;
  queue_.Put(at, group.updated + Wait(left, group.level, group.updated));
}

void FinishOrder::SetLevel(std::uint32_t at, std::uint64_t level) {
  Group& group = groups_[at];
  Catch(group);
  group.level = level;
  if (group.heap.empty()) group.progress = 0;
}

void FinishOrder::Place(Slot slot, const Seat& seat) {
  if (seat.group == kAlone) {
    const SimTime end = now_ + Wait(flows_[slot].goal, seat.level, now_);
    flows_[slot].goal = static_cast<Wide>(end.ps);
    flows_[slot].place = kInQueue;
    queue_.Put(EndOf(slot), end);
    return;
  }
  Group& group = groups_[seat.group];
  Catch(group);
  flows_[slot].goal += group.progress;
  group.heap.push_back(slot);
  Up(group, group.heap.size() - 1);
  Touch(seat.group);
}

void FinishOrder::PlaceTouched() {
  for (std::uint32_t at : touched_) {
    groups_[at].touched = false;
    PlaceGroup(at);
  }
  touched_.clear();
}

std::optional<SimTime> FinishOrder::Next() const {
  if (queue_.Empty() || queue_.Front().at == SimTime::Max()) return std::nullopt;
  return queue_.Front().at;
}

void FinishOrder::AdvanceTo(SimTime time, std::vector<Slot>& finished) {
  CHECK(time >= now_ && (queue_.Empty() || time <= queue_.Front().at));
  now_ = time;
  while (!queue_.Empty() && queue_.Front().at == now_) {
    const std::uint32_t id = queue_.Front().id;
    if (id >= group_count_) {
      const Slot slot = id - group_count_;
      finished.push_back(slot);
      Drop(slot, {});
      continue;
    }
    Group& group = groups_[id];
    Catch(group);
    while (!group.heap.empty() && flows_[group.heap.front()].goal <= group.progress) {
      const Slot slot = group.heap.front();
      finished.push_back(slot);
      Drop(slot, {.group = id});
    }
    PlaceGroup(id);  // The next flow of the group ends later.
  }
}

std::size_t FinishOrder::BytesUsed() const {
  std::size_t bytes =
      flows_.capacity() * sizeof(Flow) + groups_.capacity() * sizeof(Group) + queue_.BytesUsed();
  for (const Group& group : groups_) bytes += group.heap.capacity() * sizeof(Slot);
  return bytes;
}

}  // namespace eidolon::network::flow
