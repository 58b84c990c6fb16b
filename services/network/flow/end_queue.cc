// FlowEngine's queue of ends: which link's group, or which flow at its cap, comes to an end next.
#include <algorithm>

#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

constexpr std::uint32_t kFan = 4;

}  // namespace

std::uint32_t& FlowEngine::Position(std::uint32_t id) {
  if (id < links_.size()) return groups_[id].position;
  return flows_[id - links_.size()].place;
}

void FlowEngine::QueueUp(std::uint32_t position) {
  const End end = queue_[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / kFan;
    if (queue_[parent].at <= end.at) break;
    queue_[position] = queue_[parent];
    Position(queue_[position].id) = position;
    position = parent;
  }
  queue_[position] = end;
  Position(end.id) = position;
}

void FlowEngine::QueueDown(std::uint32_t position) {
  const End end = queue_[position];
  for (;;) {
    const std::uint32_t first = position * kFan + 1;
    const auto beyond =
        std::min<std::uint32_t>(first + kFan, static_cast<std::uint32_t>(queue_.size()));
    std::uint32_t least = position;
    base::SimTime earliest = end.at;
    for (std::uint32_t child = first; child < beyond; ++child) {
      const base::SimTime time = queue_[child].at;
      if (time < earliest) {
        least = child;
        earliest = time;
      }
    }
    if (least == position) break;
    queue_[position] = queue_[least];
    Position(queue_[position].id) = position;
    position = least;
  }
  queue_[position] = end;
  Position(end.id) = position;
}

// Enters it, or puts it where its end has moved to.
void FlowEngine::QueuePut(std::uint32_t id, base::SimTime at) {
  const std::uint32_t position = Position(id);
  if (position == kNone) {
    queue_.push_back({at, id});
    QueueUp(static_cast<std::uint32_t>(queue_.size() - 1));
    return;
  }
  const bool earlier = at < queue_[position].at;
  queue_[position].at = at;
  earlier ? QueueUp(position) : QueueDown(position);
}

void FlowEngine::QueueRemove(std::uint32_t id) {
  const std::uint32_t position = Position(id);
  if (position == kNone) return;
  Position(id) = kNone;
  const End last = queue_.back();
  queue_.pop_back();
  if (last.id == id) return;
  const bool earlier = last.at < queue_[position].at;
  queue_[position] = last;
  earlier ? QueueUp(position) : QueueDown(position);
}

}  // namespace eidolon::network::flow
