#include "services/network/flow/end_queue.h"

#include <algorithm>

namespace eidolon::network::flow {
namespace {

constexpr std::uint32_t kFan = 4;

}  // namespace

void EndQueue::Up(std::uint32_t position) {
  const End end = ends_[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / kFan;
    if (ends_[parent].at <= end.at) break;
    ends_[position] = ends_[parent];
    positions_[ends_[position].id] = position;
    position = parent;
  }
  ends_[position] = end;
  positions_[end.id] = position;
}

void EndQueue::Down(std::uint32_t position) {
  const End end = ends_[position];
  for (;;) {
    const std::uint32_t first = position * kFan + 1;
    const auto beyond =
        std::min<std::uint32_t>(first + kFan, static_cast<std::uint32_t>(ends_.size()));
    std::uint32_t least = position;
    base::SimTime earliest = end.at;
    for (std::uint32_t child = first; child < beyond; ++child) {
      const base::SimTime time = ends_[child].at;
      if (time < earliest) {
        least = child;
        earliest = time;
      }
    }
    if (least == position) break;
    ends_[position] = ends_[least];
    positions_[ends_[position].id] = position;
    position = least;
  }
  ends_[position] = end;
  positions_[end.id] = position;
}

void EndQueue::Put(std::uint32_t id, base::SimTime at) {
  if (id >= positions_.size()) positions_.resize(std::size_t{id} + 1, kAbsent);
  const std::uint32_t position = positions_[id];
  if (position == kAbsent) {
    ends_.push_back({at, id});
    Up(static_cast<std::uint32_t>(ends_.size() - 1));
    return;
  }
  const bool earlier = at < ends_[position].at;
  ends_[position].at = at;
  earlier ? Up(position) : Down(position);
}

void EndQueue::Remove(std::uint32_t id) {
  if (!Contains(id)) return;
  const std::uint32_t position = positions_[id];
  positions_[id] = kAbsent;
  const End last = ends_.back();
  ends_.pop_back();
  if (last.id == id) return;
  const bool earlier = last.at < ends_[position].at;
  ends_[position] = last;
  earlier ? Up(position) : Down(position);
}

}  // namespace eidolon::network::flow
